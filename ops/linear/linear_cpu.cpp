#include "ops/linear/linear.h"

#include <cstring>

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {

constexpr int64_t kSerialBelow = 32768;  // elements; less is done before other threads wake up

// Map      kColumnSumBlocks blocks of rows, split over the threads; in a row, lanes over columns.
// Memory   Reads each row once; the sums of a block stay in L1. Bandwidth-bound.
// Numerics f32: rows of a block in order, then the blocks in order, whatever the thread count.
// Needs    rows contiguous.
void column_sum_cpu(const ColumnSum& args) {
  const int64_t C = args.columns, R = args.rows;
  const int64_t blocks = min_of(kColumnSumBlocks, R);
#pragma omp parallel for schedule(static) if (R * C >= kSerialBelow)
  for (int64_t block = 0; block < blocks; ++block) {
    float* partial = args.partial + block * C;
    int64_t r = block * R / blocks;
    memcpy(partial, args.x + r * C, C * sizeof(float));
    for (++r; r < (block + 1) * R / blocks; ++r) {
      const float* x = args.x + r * C;
#pragma omp simd
      for (int64_t c = 0; c < C; ++c) partial[c] += x[c];
    }
  }

  if (!args.accumulate) memset(args.sum, 0, C * sizeof(float));
  for (int64_t block = 0; block < blocks; ++block) {
    const float* partial = args.partial + block * C;
#pragma omp simd
    for (int64_t c = 0; c < C; ++c) args.sum[c] += partial[c];
  }
}

}  // namespace loopless::LOOPLESS_ISA
