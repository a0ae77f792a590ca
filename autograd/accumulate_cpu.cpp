#include "autograd/accumulate.h"

namespace loopless::LOOPLESS_ISA {

constexpr int64_t kSerialBelow = 32768;  // elements; a fork costs as much as adding so many

void accumulate_cpu(const Accumulate& args) {
  const float* from = args.from;
  float* into = args.into;
#pragma omp parallel for simd schedule(static) if (args.count >= kSerialBelow)
  for (int64_t i = 0; i < args.count; ++i) into[i] += from[i];
}

}  // namespace loopless::LOOPLESS_ISA
