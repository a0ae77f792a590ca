#pragma once

#include <vector>

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// y = weighted_sum(terms, weights): a loss as its equation.
///
///   y         = sum_i weights[i] terms[i]
///   dterms[i] = weights[i] dy
///
/// Shapes   terms: n of [1], weights: n numbers -> y [1]; 1 <= n <= kMaxWeightedTerms.
/// Types    terms, y: f32; weights and the sum: f64.
/// Saves    weights.
/// Throws   Error if n is out of range, there is not one weight a term, or a term is not f32 [1].
/// Numerics one f64 sum in index order, rounded at the end.
/// Source   The total loss of a training method.
Tensor weighted_sum(const std::vector<Tensor>& terms, const std::vector<double>& weights);

inline constexpr int kMaxWeightedTerms = 16;

struct WeightedSumForward {
  const float* terms[kMaxWeightedTerms];  // [1] each
  double weights[kMaxWeightedTerms];
  int count;
  float* y;  // [1]
};
CPU_KERNEL(weighted_sum_forward_cpu, WeightedSumForward);

/// The gradient of one term.
struct WeightedSumBackward {
  const float* dy;  // [1]
  double weight;
  float* dterm;  // [1], written or added to
  bool accumulate;
};
CPU_KERNEL(weighted_sum_backward_cpu, WeightedSumBackward);

}  // namespace loopless
