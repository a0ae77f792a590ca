#include "ops/gelu/gelu.h"

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {
namespace {

/// Elements of one block. Blocks are cut independently of the threads, so that an element is
/// always computed by the same code, in a vector or in the remainder.
constexpr int64_t kBlock = 4096;
constexpr int64_t kSerialBelow = 2 * kBlock;

/// Phi(x), the normal distribution function.
inline float normal_cdf(float x) { return 0.5f + 0.5f * erf_f32(x * 0.707106781f); }

/// Phi'(x) = exp(-x^2 / 2) / sqrt(2 pi).
inline float normal_density(float x) { return 0.398942280f * exp_f32(-0.5f * x * x); }

/// A template, because g++ does not vectorise a loop this long with a choice inside.
template <bool kAccumulate>
void backward_block(const GeluBackward& args, int64_t begin, int64_t end) {
  const float *x = args.x, *dy = args.dy;
  float* dx = args.dx;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float value = dy[i] * (normal_cdf(x[i]) + x[i] * normal_density(x[i]));
    dx[i] = kAccumulate ? dx[i] + value : value;
  }
}

}  // namespace

// Map      Blocks of kBlock elements split over the threads; lanes over elements.
// Memory   Per element of f32: reads 1, writes 1. Bound by arithmetic: one erf.
// Numerics Element by element: no order to fix.
// Needs    Nothing: any count, any alignment.
void gelu_forward_cpu(const GeluForward& args) {
  const float* x = args.x;
  float* y = args.y;
#pragma omp parallel for schedule(static) if (args.count >= kSerialBelow)
  for (int64_t begin = 0; begin < args.count; begin += kBlock) {
    const int64_t end = min_of(begin + kBlock, args.count);
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) y[i] = x[i] * normal_cdf(x[i]);
  }
}

// Map      As forward.
// Memory   Per element of f32: reads 2, or 3 when accumulating, writes 1. Bound by arithmetic.
// Numerics Element by element: no order to fix.
// Needs    Nothing: any count, any alignment.
void gelu_backward_cpu(const GeluBackward& args) {
#pragma omp parallel for schedule(static) if (args.count >= kSerialBelow)
  for (int64_t begin = 0; begin < args.count; begin += kBlock) {
    const int64_t end = min_of(begin + kBlock, args.count);
    args.accumulate ? backward_block<true>(args, begin, end)
                    : backward_block<false>(args, begin, end);
  }
}

}  // namespace loopless::LOOPLESS_ISA
