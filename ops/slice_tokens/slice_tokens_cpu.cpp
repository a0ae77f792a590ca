#include "ops/slice_tokens/slice_tokens.h"

#include <cstring>

namespace loopless::LOOPLESS_ISA {
namespace {

constexpr int64_t kSerialBelow = 32768;  // elements; less is done before other threads wake up

}  // namespace

// Map      Sequences of the batch split over the threads.
// Memory   Reads and writes each byte of y once. Bandwidth-bound.
// Numerics A copy.
// Needs    begin_bytes + y_bytes <= x_bytes.
void slice_tokens_forward_cpu(const SliceTokensForward& args) {
  const int64_t count = args.batch * args.y_bytes / 4;
#pragma omp parallel for schedule(static) if (count >= kSerialBelow)
  for (int64_t b = 0; b < args.batch; ++b) {
    memcpy(args.y + b * args.y_bytes, args.x + b * args.x_bytes + args.begin_bytes, args.y_bytes);
  }
}

// Map      Sequences of the batch split over the threads.
// Memory   First contribution: reads dy, writes all of dx. Later ones touch the slice alone.
// Numerics A copy, or one addition an element.
// Needs    begin + y_count <= x_count.
void slice_tokens_backward_cpu(const SliceTokensBackward& args) {
  const int64_t end = args.begin + args.y_count;
#pragma omp parallel for schedule(static) if (args.batch * args.x_count >= kSerialBelow)
  for (int64_t b = 0; b < args.batch; ++b) {
    const float* dy = args.dy + b * args.y_count;
    float* dx = args.dx + b * args.x_count;
    if (args.accumulate) {
#pragma omp simd
      for (int64_t i = 0; i < args.y_count; ++i) dx[args.begin + i] += dy[i];
    } else {
      memset(dx, 0, args.begin * sizeof(float));
      memcpy(dx + args.begin, dy, args.y_count * sizeof(float));
      memset(dx + end, 0, (args.x_count - end) * sizeof(float));
    }
  }
}

}  // namespace loopless::LOOPLESS_ISA
