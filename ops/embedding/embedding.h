#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// y = embedding(ids, weight): one row of weight for each token; a row of zeros for padding.
///
///   y[b,t,:]     = weight[ids[b,t],:] if ids[b,t] >= 0, else 0 (padding is -1)
///   dweight[v,:] = sum over (b,t) with ids[b,t] = v of dy[b,t,:]
///
/// Shapes   ids [B, T], weight [V, C] -> y [B, T, C]; B = 0 and T = 0 are legal.
/// Types    ids: i32; weight, y: f32.
/// Saves    ids.
/// Throws   Error if a rank or type differs, or an id is neither -1 nor in [0, V).
/// Numerics exact forward; dweight adds in the order of (b,t), for any number of threads.
/// Source   elementary.
Tensor embedding(const Tensor& ids, const Tensor& weight);

struct EmbeddingForward {
  const int32_t* ids;   // [rows]
  const float* weight;  // [V, columns]
  float* y;             // [rows, columns]
  int64_t rows, columns;
};
CPU_KERNEL(embedding_forward_cpu, EmbeddingForward);

struct EmbeddingBackward {
  const int32_t* ids;  // [rows]
  const float* dy;     // [rows, columns]
  float* dweight;      // [vocabulary, columns]
  bool accumulate;
  int64_t rows, columns, vocabulary;
};
CPU_KERNEL(embedding_backward_cpu, EmbeddingBackward);

}  // namespace loopless
