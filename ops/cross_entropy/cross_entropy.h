#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// loss = cross_entropy(logits, targets): minus the log-probability of each row's target.
///
///   loss[r]      = log(sum_v exp(logits[r,v])) - logits[r,targets[r]]
///   dlogits[r,v] = dloss[r] (exp(logits[r,v]) / sum_k exp(logits[r,k]) - [v = targets[r]])
///
/// A target of -1 is ignored: its loss is 0, and so is the gradient of its row.
///
/// Shapes   logits [..., V], targets [...] -> loss [...]; rows R = product of the leading dims;
///          R = 0 is legal.
/// Types    logits, loss: f32; targets: i32.
/// Saves    logits, targets, and for each row the largest logit and
///          1 / sum_v exp(logit - largest). One number, lse = largest + log(sum), would lose
///          digits where logits are large.
/// Throws   Error if V = 0, targets are not i32 of the leading shape, or a target is
///          neither -1 nor in [0, V).
/// Numerics error <= 2x the naive f32 loop (against f64); finite for all finite logits whose
///          differences are; the same for any number of threads.
/// Source   Softmax cross entropy; targets of -1 as PyTorch's ignore_index.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets);

struct CrossEntropyForward {
  const float* logits;     // [rows, columns]
  const int32_t* targets;  // [rows]
  float* loss;             // [rows]
  float* statistics;       // [rows, 2]: largest logit, 1 / sum exp(logit - largest)
  int64_t rows, columns;
};
CPU_KERNEL(cross_entropy_forward_cpu, CrossEntropyForward);

struct CrossEntropyBackward {
  const float* logits;      // [rows, columns]
  const int32_t* targets;   // [rows]
  const float* statistics;  // [rows, 2]
  const float* dloss;       // [rows]
  float* dlogits;           // [rows, columns], written or added to
  bool accumulate;
  int64_t rows, columns;
};
CPU_KERNEL(cross_entropy_backward_cpu, CrossEntropyBackward);

}  // namespace loopless
