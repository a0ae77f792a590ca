#include "ops/uniformity/uniformity.h"

#include <cmath>

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {
namespace {

constexpr int64_t kSerialBelow = 65536;  // multiplications; a fork costs as much as so many
constexpr double kSmallestNorm = 1e-12;
constexpr float kLargestInverse = static_cast<float>(1 / kSmallestNorm);

// u[i] = x[i] / norm, and zeros to the end of the row.
void normalise_row(const UniformityForward& args, int64_t i) {
  float* u = args.u + i * args.stride;
  for (int64_t c = 0; c < args.stride; ++c) u[c] = 0;
  if (i < args.n) {
    const float* x = args.x + (args.rows ? args.rows[i] : i) * args.columns;
    double square = 0;
#pragma omp simd reduction(+ : square)
    for (int64_t c = 0; c < args.columns; ++c) square += static_cast<double>(x[c]) * x[c];
    const double norm = sqrt(square);
    const double inverse = 1 / (norm > kSmallestNorm ? norm : kSmallestNorm);
    for (int64_t c = 0; c < args.columns; ++c) u[c] = static_cast<float>(x[c] * inverse);
    args.inverse_norm[i] = static_cast<float>(inverse);
  }
}

// Squared distances of rows i..i+3 and j..j+1, into both halves of the matrix. Squares of
// differences: |u[i]|^2 + |u[j]|^2 - 2 u[i] . u[j] would take fewer operations, and lose all but
// the absolute accuracy of its terms where memories are close to each other.
void distance_tile(const UniformityForward& args, int64_t i, int64_t j) {
  constexpr int kRows = 4, kColumns = 2;  // 8 sums hide the latency of the multiply-adds
  const float *a = args.u + i * args.stride, *b = args.u + j * args.stride;
  Vec sums[kRows][kColumns] = {};
  for (int64_t c = 0; c < args.stride; c += kLanes) {
    for (int r = 0; r < kRows; ++r) {
      const Vec u = load(a + r * args.stride + c);
      for (int k = 0; k < kColumns; ++k) {
        const Vec difference = u - load(b + k * args.stride + c);
        sums[r][k] += difference * difference;
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int k = 0; k < kColumns; ++k) {
      const float distance = sum_of(sums[r][k]);
      args.laplacian[(i + r) * args.padded + j + k] = distance;
      args.laplacian[(j + k) * args.padded + i + r] = distance;
    }
  }
}

// Distances of row i become weights, and the diagonal minus their sum.
void weigh_row(const UniformityForward& args, int64_t i) {
  float* row = args.laplacian + i * args.padded;
#pragma omp simd
  for (int64_t j = 0; j < args.n; ++j) row[j] = exp_f32(-2 * row[j]);
  row[i] = 0;
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < args.n; ++j) sum += row[j];
  row[i] = static_cast<float>(-sum);
}

// pull = laplacian u, for a tile of rows from i and one cache line of columns from c.
constexpr int kLineVecs = 16 / kLanes;
constexpr int kPullRows = 8 / kLineVecs;  // 8 sums hide the latency of the multiply-adds

void pull_tile(const UniformityBackward& args, int64_t i, int64_t c) {
  Vec sums[kPullRows][kLineVecs] = {};
  for (int64_t j = 0; j < args.padded; ++j) {
    const float* u = args.u + j * args.stride + c;
    for (int r = 0; r < kPullRows; ++r) {
      const Vec weight = spread(args.laplacian[(i + r) * args.padded + j]);
      for (int k = 0; k < kLineVecs; ++k) sums[r][k] += weight * load(u + k * kLanes);
    }
  }
  for (int r = 0; r < kPullRows; ++r) {
    for (int k = 0; k < kLineVecs; ++k) {
      store(args.pull + (i + r) * args.stride + c + k * kLanes, sums[r][k]);
    }
  }
}

// dx of row i: du through the normalisation, whose Jacobian removes the part along u.
void add_gradient(const UniformityBackward& args, int64_t i) {
  const float *u = args.u + i * args.stride, *pull = args.pull + i * args.stride;
  float* dx = args.dx + (args.rows ? args.rows[i] : i) * args.columns;
  double dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t c = 0; c < args.columns; ++c) dot += static_cast<double>(pull[c]) * u[c];
  const float along = args.inverse_norm[i] < kLargestInverse ? static_cast<float>(dot) : 0.0f;
  const float scale = 4 * *args.dy / *args.sum * args.inverse_norm[i];
#pragma omp simd
  for (int64_t c = 0; c < args.columns; ++c) dx[c] += scale * (pull[c] - along * u[c]);
}

}  // namespace

// Map      Rows are normalised; then distances in tiles of 4 x 2, in blocks of 16 x 16 rows,
//          in second-level cache, on and above the diagonal; then rows of weights.
// Memory   Reads n C, writes n C and n^2 twice. Compute-bound: n^2 C operations.
// Numerics f32 sums of squares in lanes. Distances are in [0, 4]: no exponential underflows, and
//          the logarithm needs no shift. f64 sums of rows, added in index order.
// Needs    n >= 2; padded a multiple of kUniformityBlock, stride a multiple of 16.
void uniformity_forward_cpu(const UniformityForward& args) {
  const bool is_large = args.padded * args.padded * args.stride >= kSerialBelow;
#pragma omp parallel for schedule(static) if (is_large)
  for (int64_t i = 0; i < args.padded; ++i) normalise_row(args, i);
  constexpr int64_t kBlock = kUniformityBlock;
#pragma omp parallel for collapse(2) schedule(static, 1) if (is_large)
  for (int64_t row = 0; row < args.padded; row += kBlock) {
    for (int64_t column = 0; column < args.padded; column += kBlock) {
      if (column < row) continue;  // mirrored
      for (int64_t i = row; i < row + kBlock; i += 4) {
        for (int64_t j = column; j < column + kBlock; j += 2) distance_tile(args, i, j);
      }
    }
  }
#pragma omp parallel for schedule(static) if (is_large)
  for (int64_t i = 0; i < args.n; ++i) weigh_row(args, i);
  double sum = 0;  // of both halves
  for (int64_t i = 0; i < args.n; ++i) sum -= args.laplacian[i * args.padded + i];
  const double n = static_cast<double>(args.n);
  *args.sum = static_cast<float>(sum / 2);
  *args.y = static_cast<float>(log(sum / (n * (n - 1))));
}

// Map      A matrix product in tiles, those of the same columns one after the other: they read the
//          same cache lines of u. Then rows of dx.
// Memory   Reads n^2 and n C, writes n C twice. Compute-bound: 2 n^2 C operations.
// Numerics f32 sums in index order. Padding columns of the matrix meet rows of u that are zero.
// Needs    As the forward; distinct rows.
void uniformity_backward_cpu(const UniformityBackward& args) {
  const bool is_large = args.padded * args.padded * args.stride >= kSerialBelow;
#pragma omp parallel for collapse(2) schedule(static) if (is_large)
  for (int64_t c = 0; c < args.stride; c += 16) {
    for (int64_t i = 0; i < args.padded; i += kPullRows) pull_tile(args, i, c);
  }
#pragma omp parallel for schedule(static) if (is_large)
  for (int64_t i = 0; i < args.n; ++i) add_gradient(args, i);
}

}  // namespace loopless::LOOPLESS_ISA
