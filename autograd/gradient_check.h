/// Compares recorded gradients with finite differences of a float64 reference.
///
/// For a random signed cotangent c, the gradient g of sum(c * y) with respect to the inputs must
/// agree with central differences of the reference, along random directions over all inputs at
/// once and, where `every_element` is set, along each single element. Errors are relative to the
/// largest element of the gradient compared; NaN and a missing gradient count as failure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/autograd.h"

namespace loopless {

struct GradientCheck {
  /// f32 tensors; every one becomes a leaf.
  std::vector<Tensor> inputs;
  /// The op under test. Its result is compared element by element in row-major order.
  std::function<Tensor(const std::vector<Tensor>&)> op;
  /// The same in float64, on flat row-major arrays.
  std::function<std::vector<double>(const std::vector<std::vector<double>>&)> reference;
  /// Largest error accepted. A f32 gradient carries one rounding of 2^-24 for each of the terms
  /// added one after the other; 1e-5 leaves room for about 160 of them.
  double tolerance = 1e-5;
  /// Step of the central difference: its own error is of order step^2.
  double step = 1e-5;
  int directions = 3;
  bool every_element = false;
  uint64_t seed = 1;
};

/// Empty when the gradients agree; else one line: input, element, both values, error, tolerance.
std::string check_gradient(const GradientCheck& check);

}  // namespace loopless
