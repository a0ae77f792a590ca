#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

struct RopeOptions {
  int64_t head_size;
  int64_t rotated_dims;        // of each head, the first ones; even
  int64_t rotated_heads;       // the first ones: 2H of the 3H in a fused qkv
  int64_t first_position = 0;  // of token 0
  double base = 10000;
};

/// y = rope(x): turn each pair of neighbouring dims by an angle that grows with the position, so
/// that the product of a query and a key depends on their distance.
///
///   angle[t,i]        = (first_position + t) base^(-2i / rotated_dims)
///   y[b,t,n,2i]       = x[b,t,n,2i] cos(angle[t,i]) - x[b,t,n,2i+1] sin(angle[t,i])
///   y[b,t,n,2i+1]     = x[b,t,n,2i] sin(angle[t,i]) + x[b,t,n,2i+1] cos(angle[t,i])
///                       for n < rotated_heads and 2i < rotated_dims; elsewhere y = x
///   dx                = dy turned by -angle
///
/// Works in place where nobody else holds x's storage: rope(std::move(x), ...). The backward does
/// the same with dy.
///
/// Shapes   x [B, T, N * head_size] -> y of the same; B or T = 0 is legal.
/// Types    x, y: f32; cosines and sines computed in f64, then rounded, and kept for later calls.
/// Saves    nothing but the shared table of cosines and sines.
/// Throws   Error if x does not have that shape, rotated_dims is not even or not within the head,
///          rotated_heads not within N, first_position negative, or base not positive.
/// Numerics error <= 2x the naive f32 loop (against f64); the same for any number of threads.
/// Source   Su et al. 2021, arXiv:2104.09864, eq. 34, with interleaved pairs.
Tensor rope(Tensor x, const RopeOptions& options);

struct Rope {
  float* x;              // [sequences * length, stride], turned in place
  const float* cosines;  // [length, rotated_dims], each twice: once for either dim of its pair
  const float* sines;    // [length, rotated_dims], the first of each pair negative
  int64_t sequences, length, stride;
  int64_t heads, head_size, rotated_dims;
  float direction;  // 1 turns forth, -1 back
};
CPU_KERNEL(rope_cpu, Rope);

}  // namespace loopless
