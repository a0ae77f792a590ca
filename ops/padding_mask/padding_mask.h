#pragma once

#include "tensor/isa.h"
#include "tensor/tensor.h"

namespace loopless {

/// mask = padding_mask(ids, extra): which keys attention may look at.
///
///   mask[b,t] = 1 if ids[b,t] >= 0, else 0 (padding is -1)   for t < T
///   mask[b,t] = 1                                            for T <= t < T + extra
///
/// The extra columns stand for the register tokens that the encoder appends to each sequence.
///
/// Gradient none
/// Shapes   ids [B, T], extra >= 0 -> mask [B, T + extra].
/// Types    ids: i32; mask: u8.
/// Saves    nothing.
/// Throws   Error if ids is not i32 [B, T] or extra is negative.
/// Numerics exact.
/// Source   elementary.
Tensor padding_mask(const Tensor& ids, int64_t extra);

struct PaddingMask {
  const int32_t* ids;  // [batch, length]
  uint8_t* mask;       // [batch, length + extra]
  int64_t batch, length, extra;
};
CPU_KERNEL(padding_mask_cpu, PaddingMask);

}  // namespace loopless
