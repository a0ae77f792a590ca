#include "ops/add/add.h"

namespace loopless::LOOPLESS_ISA {

constexpr int64_t kSerialBelow = 32768;  // elements; less is done before other threads wake up

// Map      Elements split over the threads and the lanes.
// Memory   Per element of f32: reads 2, writes 1. Bandwidth-bound.
// Numerics One rounding an element: no order to fix.
// Needs    Nothing: any count, any alignment.
void add_forward_cpu(const AddForward& args) {
  const float *a = args.a, *b = args.b;
  float* y = args.y;
#pragma omp parallel for simd schedule(static) if (args.count >= kSerialBelow)
  for (int64_t i = 0; i < args.count; ++i) y[i] = a[i] + b[i];
}

}  // namespace loopless::LOOPLESS_ISA
