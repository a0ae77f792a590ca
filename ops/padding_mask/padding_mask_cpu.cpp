#include "ops/padding_mask/padding_mask.h"

namespace loopless::LOOPLESS_ISA {

// Map      One thread, sequence by sequence: a mask is some thousand bytes.
// Memory   Per token: reads 4 bytes, writes 1.
// Numerics Exact.
// Needs    Nothing: any sizes.
void padding_mask_cpu(const PaddingMask& args) {
  const int64_t T = args.length, width = args.length + args.extra;
  for (int64_t b = 0; b < args.batch; ++b) {
    const int32_t* ids = args.ids + b * T;
    uint8_t* mask = args.mask + b * width;
    for (int64_t t = 0; t < T; ++t) mask[t] = ids[t] >= 0;
    for (int64_t t = T; t < width; ++t) mask[t] = 1;
  }
}

}  // namespace loopless::LOOPLESS_ISA
