#pragma once

#include <cstddef>

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// y = concat_tokens(a, b): in each sequence of the batch, the tokens of a, then those of b.
///
///   y[i,t]  = a[i,t] for t < Ta,  b[i,t-Ta] for t >= Ta
///   da[i,t] = dy[i,t],  db[i,t] = dy[i,Ta+t]
///
/// Shapes   a [B, Ta, ...], b [B, Tb, ...] -> y [B, Ta + Tb, ...]; Ta = 0 and Tb = 0 are legal.
/// Types    a, b, y: all equal; only f32 has a gradient (ids [B, T] in i32 go through as well).
/// Saves    nothing.
/// Throws   Error if types differ, a rank is below 2, or the sizes differ in another dimension.
/// Numerics exact.
/// Source   elementary.
Tensor concat_tokens(const Tensor& a, const Tensor& b);

struct ConcatTokensForward {
  const std::byte* a;  // [batch, a_bytes]
  const std::byte* b;  // [batch, b_bytes]
  std::byte* y;        // [batch, a_bytes + b_bytes]
  int64_t batch, a_bytes, b_bytes;
};
CPU_KERNEL(concat_tokens_forward_cpu, ConcatTokensForward);

struct ConcatTokensBackward {
  const float* dy;  // [batch, a_count + b_count]
  float* da;        // [batch, a_count] or null
  float* db;        // [batch, b_count] or null
  bool accumulate_da, accumulate_db;
  int64_t batch, a_count, b_count;
};
CPU_KERNEL(concat_tokens_backward_cpu, ConcatTokensBackward);

}  // namespace loopless
