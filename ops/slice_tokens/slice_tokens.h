#pragma once

#include <cstddef>

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// y = slice_tokens(x, begin, count): `count` tokens of each sequence, from token `begin` on.
///
///   y[b,t]  = x[b,begin+t]
///   dx[b,t] = dy[b,t-begin] for begin <= t < begin + count, else 0
///
/// Shapes   x [B, T, ...] -> y [B, count, ...]; count = 0 is legal.
/// Types    x, y: equal; only f32 has a gradient (ids [B, T] in i32 go through as well).
/// Saves    nothing.
/// Throws   Error if x has a rank below 2, or [begin, begin + count) is not inside [0, T).
/// Numerics exact.
/// Source   elementary.
Tensor slice_tokens(const Tensor& x, int64_t begin, int64_t count);

struct SliceTokensForward {
  const std::byte* x;  // [batch, x_bytes]
  std::byte* y;        // [batch, y_bytes] = x[:, begin_bytes : begin_bytes + y_bytes]
  int64_t batch, x_bytes, begin_bytes, y_bytes;
};
CPU_KERNEL(slice_tokens_forward_cpu, SliceTokensForward);

struct SliceTokensBackward {
  const float* dy;  // [batch, y_count]
  float* dx;        // [batch, x_count]
  bool accumulate;
  int64_t batch, x_count, begin, y_count;  // elements of one sequence
};
CPU_KERNEL(slice_tokens_backward_cpu, SliceTokensBackward);

}  // namespace loopless
