#include "ops/rope/rope.h"

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {

constexpr int64_t kSerialBelow = 16384;  // pairs; less is done before other threads wake up

// Map      Tokens split over the threads; within a head, lanes over pairs.
// Memory   Per pair of f32: reads and writes 2; the table's row stays in L1. Bandwidth-bound.
// Numerics Each pair by itself: no order to fix.
// Needs    2 * pairs <= head_size, heads * head_size <= stride.
void rope_cpu(const Rope& args) {
  const int64_t tokens = args.sequences * args.length, pairs = args.pairs;
#pragma omp parallel for schedule(static) if (tokens * args.heads * pairs >= kSerialBelow)
  for (int64_t token = 0; token < tokens; ++token) {
    const float* cosines = args.cosines + token % args.length * pairs;
    const float* sines = args.sines + token % args.length * pairs;
    for (int64_t head = 0; head < args.heads; ++head) {
      float* x = args.x + token * args.stride + head * args.head_size;
#pragma omp simd
      for (int64_t i = 0; i < pairs; ++i) {
        const float a = x[2 * i], b = x[2 * i + 1];
        const float sine = args.direction * sines[i];
        x[2 * i] = a * cosines[i] - b * sine;
        x[2 * i + 1] = a * sine + b * cosines[i];
      }
    }
  }
}

}  // namespace loopless::LOOPLESS_ISA
