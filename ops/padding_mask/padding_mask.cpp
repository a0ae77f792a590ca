#include "ops/padding_mask/padding_mask.h"

namespace loopless {

Tensor padding_mask(const Tensor& ids, int64_t extra) {
  check_dtype("padding_mask", "ids", ids, kI32);
  CHECK(ids.rank() == 2, "padding_mask: ids must be [B, T], got ", ids.shape());
  CHECK(extra >= 0, "padding_mask: extra must not be negative, got ", extra);
  const int64_t B = ids.size(0), T = ids.size(1);
  const Tensor mask = Tensor::empty({B, T + extra}, kU8, ids.device());
  padding_mask_cpu({.ids = ids.data<int32_t>(),
                    .mask = mask.data<uint8_t>(),
                    .batch = B,
                    .length = T,
                    .extra = extra});
  return mask;
}

}  // namespace loopless
