#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// y = mse(a, b): mean squared difference over all N elements.
///
///   y     = mean_i (a[i] - b[i])^2
///   da[i] = 2 dy (a[i] - b[i]) / N
///   db[i] = -da[i]
///
/// Shapes   a [...], b [...] of the same shape -> y [1]; y = 0 for N = 0.
/// Types    a, b, y: f32; the sum is f64.
/// Saves    a, b.
/// Throws   Error if the shapes differ, or a or b is not f32.
/// Numerics differences in f32; f64 sums of kMseBlock elements, added in index order; the same for
///          any number of threads.
/// Source   The dynamics loss in supervised memory training.
Tensor mse(const Tensor& a, const Tensor& b);

inline constexpr int64_t kMseBlock = 4096;  // elements of one partial sum

struct MseForward {
  const float* a;   // [count]
  const float* b;   // [count]
  double* partial;  // [ceil(count / kMseBlock)], scratch
  float* y;         // [1]
  int64_t count;
};
CPU_KERNEL(mse_forward_cpu, MseForward);

/// The gradient of the first input; that of the second is the same with a and b exchanged.
struct MseBackward {
  const float* a;   // [count]
  const float* b;   // [count]
  const float* dy;  // [1]
  float* da;        // [count], written or added to
  bool accumulate;
  int64_t count;
};
CPU_KERNEL(mse_backward_cpu, MseBackward);

}  // namespace loopless
