#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

struct MaskedMeanOptions {
  double gamma = 1;   // weight of a position relative to the one before it
  Tensor count = {};  // [1], the divisor; undefined: count_valid(targets)
};

/// y = masked_mean(loss, targets, {gamma, count}): discounted mean over the valid targets.
///
///   y          = sum over valid (b, j) of gamma^j loss[b,j] / count
///   dloss[b,j] = dy gamma^j / count where targets[b,j] is valid, else 0
///
/// A target is valid if it is not negative; j is its position in the row. The divisor is the
/// number of valid targets, not the sum of gamma^j; if there are none, y and the gradient are 0.
/// Gradient accumulation gives `count`: the pieces of a batch, each divided by the count of the
/// whole batch, add up to its mean.
///
/// Shapes   loss [B, T], targets [B, T], count [1] or undefined -> y [1]; B = 0, T = 0 are legal.
/// Types    loss, count, y: f32; targets: i32; the sum is f64.
/// Saves    targets, count.
/// Throws   Error if loss has not two dimensions, or targets or count another shape or type.
/// Numerics one f64 sum in index order, rounded at the end.
/// Source   The decoder's loss in supervised memory training.
Tensor masked_mean(const Tensor& loss, const Tensor& targets,
                   const MaskedMeanOptions& options = {});

/// The number of valid targets, f32 [1] (exact up to 2^24). Targets may have any shape.
Tensor count_valid(const Tensor& targets);

struct CountValid {
  const int32_t* targets;  // [size]
  float* count;            // [1]
  int64_t size;
};
CPU_KERNEL(count_valid_cpu, CountValid);

struct MaskedMeanForward {
  const float* loss;       // [rows, columns]
  const int32_t* targets;  // [rows, columns]
  const float* count;      // [1]
  float* y;                // [1]
  double gamma;
  int64_t rows, columns;
};
CPU_KERNEL(masked_mean_forward_cpu, MaskedMeanForward);

struct MaskedMeanBackward {
  const int32_t* targets;  // [rows, columns]
  const float* count;      // [1]
  const float* dy;         // [1]
  float* dloss;            // [rows, columns], written or added to
  bool accumulate;
  double gamma;
  int64_t rows, columns;
};
CPU_KERNEL(masked_mean_backward_cpu, MaskedMeanBackward);

}  // namespace loopless
