#include "ops/embedding/embedding.h"

#include <cstring>

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {
namespace {

constexpr int64_t kSerialBelow = 32768;  // elements; less is done before other threads wake up
constexpr int64_t kColumnBlock = 64;     // columns; 32 took 2x as long on one thread, 128 the same

}  // namespace

// Map      Rows split over the threads.
// Memory   Per row of f32: reads C from the cached weight, writes C. Bandwidth-bound.
// Numerics A copy.
// Needs    Every id in [-1, V).
void embedding_forward_cpu(const EmbeddingForward& args) {
  const int64_t C = args.columns;
  const size_t row_bytes = C * sizeof(float);
#pragma omp parallel for schedule(static) if (args.rows * C >= kSerialBelow)
  for (int64_t r = 0; r < args.rows; ++r) {
    const int64_t id = args.ids[r];
    if (id >= 0) {
      memcpy(args.y + r * C, args.weight + id * C, row_bytes);
    } else {
      memset(args.y + r * C, 0, row_bytes);
    }
  }
}

// Map      Blocks of kColumnBlock columns split over the threads, each walking all rows: no two
//          threads write one element, and many rows of one id (all of them, in a black picture)
//          do not unbalance the threads, as owning rows of dweight would.
// Memory   Reads dy once; the block of dweight (V kColumnBlock floats) stays in the cache.
// Numerics Every element adds its rows in index order, whatever the thread count.
// Needs    Every id in [-1, V).
void embedding_backward_cpu(const EmbeddingBackward& args) {
  const int64_t C = args.columns;
#pragma omp parallel for schedule(static) if (args.rows * C >= kSerialBelow)
  for (int64_t begin = 0; begin < C; begin += kColumnBlock) {
    const int64_t width = min_of(kColumnBlock, C - begin);
    if (!args.accumulate) {
      for (int64_t v = 0; v < args.vocabulary; ++v) {
        memset(args.dweight + v * C + begin, 0, width * sizeof(float));
      }
    }
    for (int64_t r = 0; r < args.rows; ++r) {
      const int64_t id = args.ids[r];
      if (id < 0) continue;
      const float* from = args.dy + r * C + begin;
      float* into = args.dweight + id * C + begin;
#pragma omp simd
      for (int64_t c = 0; c < width; ++c) into[c] += from[c];
    }
  }
}

}  // namespace loopless::LOOPLESS_ISA
