#include "ops/rms_norm/rms_norm.h"

#include <cmath>
#include <cstring>

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {
namespace {

constexpr int64_t kSerialBelow = 32768;  // elements; less is done before other threads wake up

float inverse_root(float mean_square, float floor, float epsilon) {
  return 1.0f / sqrtf(max_of(mean_square, floor) + epsilon);
}

/// 1 + gain[c]; the test for a missing gain is moved out of the loops by the compiler.
inline float scale_at(const float* gain, int64_t c) { return gain ? 1.0f + gain[c] : 1.0f; }

void write_dx_row(const RmsNormBackward& args, int64_t r) {
  const int64_t C = args.columns;
  const float *x = args.x + r * C, *dy = args.dy + r * C, *gain = args.gain;
  float* dx = args.dx + r * C;
  const float rstd = args.rstd[r];

  float dot = 0;  // sum_k u[r,k] x[r,k]
#pragma omp simd reduction(+ : dot)
  for (int64_t c = 0; c < C; ++c) dot += scale_at(gain, c) * dy[c] * x[c];

  // rstd has its largest value exactly where the floor was taken, and there it is constant.
  const bool is_constant = rstd == inverse_root(0.0f, args.floor, args.epsilon);
  const float slope = is_constant ? 0.0f : rstd * rstd * dot / static_cast<float>(C);
#pragma omp simd
  for (int64_t c = 0; c < C; ++c) {
    const float value = rstd * (scale_at(gain, c) * dy[c] - x[c] * slope);
    dx[c] = args.accumulate_dx ? dx[c] + value : value;
  }
}

void add_dgain_row(const RmsNormBackward& args, int64_t r, float* partial) {
  const int64_t C = args.columns;
  const float *x = args.x + r * C, *dy = args.dy + r * C;
  const float rstd = args.rstd[r];
#pragma omp simd
  for (int64_t c = 0; c < C; ++c) partial[c] += dy[c] * x[c] * rstd;
}

}  // namespace

// Map      One row after the other, rows split over the threads; within a row, lanes over columns.
// Memory   Per row of f32: reads C (again from L1), writes C + 1. Bandwidth-bound.
// Numerics f32 sum of squares, one partial sum a lane: an order fixed at compile time.
// Needs    C > 0, rows contiguous.
void rms_norm_forward_cpu(const RmsNormForward& args) {
  const int64_t C = args.columns;
  const float* gain = args.gain;
#pragma omp parallel for schedule(static) if (args.rows * C >= kSerialBelow)
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * C;
    float* y = args.y + r * C;

    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t c = 0; c < C; ++c) squares += x[c] * x[c];

    const float rstd = inverse_root(squares / static_cast<float>(C), args.floor, args.epsilon);
    if (args.rstd) args.rstd[r] = rstd;
#pragma omp simd
    for (int64_t c = 0; c < C; ++c) y[c] = x[c] * rstd * scale_at(gain, c);
  }
}

// Map      kRmsNormBlocks blocks of rows, split over the threads; in a row, lanes over columns.
// Memory   Per row: reads 2C (x and dy, again from L1), writes C; 4C bytes of sums stay in L1.
// Numerics dgain: rows of a block in order, then the blocks in order, whatever the thread count.
// Needs    C > 0, rows contiguous, rstd from the forward kernel with the same floor and epsilon.
void rms_norm_backward_cpu(const RmsNormBackward& args) {
  const int64_t C = args.columns, R = args.rows;
#pragma omp parallel for schedule(static) if (R * C >= kSerialBelow)
  for (int64_t block = 0; block < kRmsNormBlocks; ++block) {
    float* partial = args.dgain ? args.partial + block * C : nullptr;
    if (partial) memset(partial, 0, C * sizeof(float));
    const int64_t end = (block + 1) * R / kRmsNormBlocks;
    for (int64_t r = block * R / kRmsNormBlocks; r < end; ++r) {
      if (args.dx) write_dx_row(args, r);
      if (partial) add_dgain_row(args, r, partial);
    }
  }

  if (!args.dgain) return;
  if (!args.accumulate_dgain) memset(args.dgain, 0, C * sizeof(float));
  for (int64_t block = 0; block < kRmsNormBlocks; ++block) {
    const float* partial = args.partial + block * C;
#pragma omp simd
    for (int64_t c = 0; c < C; ++c) args.dgain[c] += partial[c];
  }
}

}  // namespace loopless::LOOPLESS_ISA
