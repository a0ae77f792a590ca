#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// y = fsq(x, q): finite scalar quantisation, each element to the nearest multiple of q.
///
///   y  = round(x / q) q      round half to even; the sign of zero is kept
///   dx = dy                  straight through: the rounding counts as the identity
///
/// Shapes   x of any shape -> y of the same.
/// Types    x, y: f32.
/// Saves    nothing.
/// Throws   Error if x is not f32, or q is not positive and finite.
/// Numerics the division, the rounding and the product are IEEE f32 operations, in this order.
/// Source   Mentzer et al. 2023, arXiv:2309.15505; here without bounds, as in the reference model.
Tensor fsq(const Tensor& x, float q);

struct FsqForward {
  const float* x;  // [count]
  float* y;        // [count]
  int64_t count;
  float q;
};
CPU_KERNEL(fsq_forward_cpu, FsqForward);

}  // namespace loopless
