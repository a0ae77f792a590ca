#pragma once

#include "tensor/isa.h"
#include "tensor/tensor.h"

namespace loopless {

/// global_norm(grads, max_norm, norm, clip_factor): the length of the gradient, and what clips it.
///
///   norm        = sqrt(sum_i grads[i]^2)
///   clip_factor = min(1, max_norm / (norm + 1e-6))
///
/// The gradients stay as they are: adamw multiplies them by clip_factor. A norm that is not finite
/// shows that a gradient is not, or that all are too large; clip_factor is then of no use.
///
/// Gradient none.
///
/// Shapes   grads [N] -> norm [1], clip_factor [1]; N = 0 is legal.
/// Types    grads, norm, clip_factor: f32; the sum is f64.
/// Saves    nothing.
/// Throws   Error if a shape or type differs, or max_norm is not positive (infinity
///          clips nothing).
/// Numerics f64 sums of kGlobalNormBlock elements, added in index order; the same for any
///          number of threads, and for slices that start at multiples of the block.
/// Source   Pascanu et al. 2013, arXiv:1211.5063, with PyTorch's 1e-6.
void global_norm(const Tensor& grads, double max_norm, const Tensor& norm,
                 const Tensor& clip_factor);

inline constexpr int64_t kGlobalNormBlock = 4096;  // elements of one partial sum

struct GlobalNorm {
  const float* grads;  // [count]
  double* partial;     // [ceil(count / kGlobalNormBlock)], scratch
  double max_norm;
  float* norm;         // [1]
  float* clip_factor;  // [1]
  int64_t count;
};
CPU_KERNEL(global_norm_cpu, GlobalNorm);

}  // namespace loopless
