#include "ops/rope/rope.h"

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {

namespace {

constexpr int64_t kSerialBelow = 32768;  // elements; less is done before other threads wake up

/// The two floats of each pair exchanged.
inline Vec swap_pairs(Vec v) {
  typedef uint64_t Pairs __attribute__((vector_size(sizeof(Vec))));
  const Pairs pairs = reinterpret_cast<Pairs>(v);
  return reinterpret_cast<Vec>(pairs << 32 | pairs >> 32);
}

void turn_head(const Rope& args, const float* cosines, const float* sines, float* x) {
  const int64_t whole = args.rotated_dims / kLanes * kLanes;
  for (int64_t c = 0; c < whole; c += kLanes) {
    const Vec v = load(x + c), sine = load(sines + c) * args.direction;
    store(x + c, v * load(cosines + c) + swap_pairs(v) * sine);
  }
  for (int64_t c = whole; c < args.rotated_dims; c += 2) {
    const float a = x[c], b = x[c + 1];
    x[c] = a * cosines[c] + b * (sines[c] * args.direction);
    x[c + 1] = b * cosines[c + 1] + a * (sines[c + 1] * args.direction);
  }
}

}  // namespace

// Map      Tokens split over the threads; within a head, lanes over its rotated dims.
// Memory   Per rotated element of f32: read and written once; the table's row stays in L1.
//          Bandwidth-bound.
// Numerics Each pair by itself: no order to fix.
// Needs    rotated_dims even and <= head_size, heads * head_size <= stride.
void rope_cpu(const Rope& args) {
  const int64_t tokens = args.sequences * args.length, dims = args.rotated_dims;
#pragma omp parallel for schedule(static) if (tokens * args.heads * dims >= kSerialBelow)
  for (int64_t token = 0; token < tokens; ++token) {
    const float* cosines = args.cosines + token % args.length * dims;
    const float* sines = args.sines + token % args.length * dims;
    float* x = args.x + token * args.stride;
    for (int64_t head = 0; head < args.heads; ++head) {
      turn_head(args, cosines, sines, x + head * args.head_size);
    }
  }
}

}  // namespace loopless::LOOPLESS_ISA
