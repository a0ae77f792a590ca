#include "ops/concat_tokens/concat_tokens.h"

#include <cstring>

namespace loopless::LOOPLESS_ISA {
namespace {

constexpr int64_t kSerialBelow = 32768;  // elements; less is done before other threads wake up

void write_or_add(float* into, const float* from, int64_t count, bool accumulate) {
  if (!accumulate) {
    memcpy(into, from, count * sizeof(float));
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) into[i] += from[i];
}

}  // namespace

// Map      Sequences of the batch split over the threads.
// Memory   Reads and writes each byte once. Bandwidth-bound.
// Numerics A copy.
// Needs    Nothing: any sizes.
void concat_tokens_forward_cpu(const ConcatTokensForward& args) {
  const int64_t A = args.a_bytes, B = args.b_bytes;
  const int64_t count = args.batch * (A + B) / 4;
#pragma omp parallel for schedule(static) if (count >= kSerialBelow)
  for (int64_t i = 0; i < args.batch; ++i) {
    std::byte* y = args.y + i * (A + B);
    memcpy(y, args.a + i * A, A);
    memcpy(y + A, args.b + i * B, B);
  }
}

// Map      Sequences of the batch split over the threads.
// Memory   Reads dy once, writes (or reads and writes) da and db once. Bandwidth-bound.
// Numerics A copy, or one addition an element.
// Needs    Nothing: any sizes.
void concat_tokens_backward_cpu(const ConcatTokensBackward& args) {
  const int64_t A = args.a_count, B = args.b_count;
#pragma omp parallel for schedule(static) if (args.batch * (A + B) >= kSerialBelow)
  for (int64_t i = 0; i < args.batch; ++i) {
    const float* dy = args.dy + i * (A + B);
    if (args.da) write_or_add(args.da + i * A, dy, A, args.accumulate_da);
    if (args.db) write_or_add(args.db + i * B, dy + A, B, args.accumulate_db);
  }
}

}  // namespace loopless::LOOPLESS_ISA
