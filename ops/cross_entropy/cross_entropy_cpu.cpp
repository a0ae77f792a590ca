#include "ops/cross_entropy/cross_entropy.h"

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {
namespace {

constexpr int64_t kSerialBelow = 8192;  // elements; a fork costs as much as so many exponentials

/// By hand, because clang does not vectorise the maximum of floats: one of them might be NaN.
float largest_of(const float* x, int64_t count) {
  float largest = x[0];
  int64_t i = 0;
  Vec lanes = spread(largest);
  for (; i + kLanes <= count; i += kLanes) lanes = load(x + i) > lanes ? load(x + i) : lanes;
  for (int lane = 0; lane < kLanes; ++lane) largest = max_of(largest, lanes[lane]);
  for (; i < count; ++i) largest = max_of(largest, x[i]);
  return largest;
}

}  // namespace

// Map      One row at a time, rows shared among the threads; lanes along the vocabulary.
// Memory   Per row: reads 4V (the second pass from cache), writes 12. Bound by the exponentials.
// Numerics f32 sum in lanes; exp(x - largest) is in [0, 1] and the sum in [1, V]: no overflow.
// Needs    V > 0; targets -1 or in [0, V).
void cross_entropy_forward_cpu(const CrossEntropyForward& args) {
  const int64_t columns = args.columns;
#pragma omp parallel for schedule(static) if (args.rows * columns >= kSerialBelow)
  for (int64_t r = 0; r < args.rows; ++r) {
    args.loss[r] = 0;
    if (args.targets[r] < 0) continue;
    const float* x = args.logits + r * columns;
    const float largest = largest_of(x, columns);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < columns; ++c) sum += exp_f32(x[c] - largest);
    // In this order, because largest - x[target] is exact where both are large.
    args.loss[r] = log_f32(sum) + (largest - x[args.targets[r]]);
    args.statistics[2 * r] = largest;
    args.statistics[2 * r + 1] = 1 / sum;
  }
}

// Map      One row at a time, rows shared among the threads; lanes along the vocabulary.
// Memory   Per row: reads 4V + 16, writes 4V (reads them too when accumulating).
// Numerics Each probability from the saved largest logit and sum, as exact as in the forward.
// Needs    V > 0; targets -1 or in [0, V).
void cross_entropy_backward_cpu(const CrossEntropyBackward& args) {
  const int64_t columns = args.columns;
#pragma omp parallel for schedule(static) if (args.rows * columns >= kSerialBelow)
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.logits + r * columns;
    float* dx = args.dlogits + r * columns;
    if (!args.accumulate) {
      for (int64_t c = 0; c < columns; ++c) dx[c] = 0;  // stays in cache for the next loop
    }
    if (args.targets[r] < 0) continue;
    const float largest = args.statistics[2 * r];
    const float scale = args.statistics[2 * r + 1] * args.dloss[r];
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) dx[c] += scale * exp_f32(x[c] - largest);
    dx[args.targets[r]] -= args.dloss[r];
  }
}

}  // namespace loopless::LOOPLESS_ISA
