#include "ops/fsq/fsq.h"

#include <cmath>

namespace loopless::LOOPLESS_ISA {

constexpr int64_t kSerialBelow = 32768;  // elements; less is done before other threads wake up

// Map      Elements split over the threads and the lanes.
// Memory   Per element of f32: reads 1, writes 1. Bandwidth-bound.
// Numerics A true division: x * (1 / q) would move ties. rintf rounds half to even.
// Needs    The rounding mode to-nearest, which nobody changes.
void fsq_forward_cpu(const FsqForward& args) {
  const float *x = args.x, q = args.q;
  float* y = args.y;
#pragma omp parallel for simd schedule(static) if (args.count >= kSerialBelow)
  for (int64_t i = 0; i < args.count; ++i) y[i] = rintf(x[i] / q) * q;
}

}  // namespace loopless::LOOPLESS_ISA
