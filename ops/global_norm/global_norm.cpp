#include "ops/global_norm/global_norm.h"

namespace loopless {

void global_norm(const Tensor& grads, double max_norm, const Tensor& norm,
                 const Tensor& clip_factor) {
  check_dtype("global_norm", "grads", grads);
  CHECK(grads.rank() == 1, "global_norm: grads must be [N], got ", grads.shape());
  check_tensor("global_norm", "norm", norm, {1});
  check_tensor("global_norm", "clip_factor", clip_factor, {1});
  CHECK(max_norm > 0, "global_norm: max_norm must be positive, got ", max_norm);
  const int64_t blocks = (grads.numel() + kGlobalNormBlock - 1) / kGlobalNormBlock;
  const Tensor partial = Tensor::empty({blocks * static_cast<int64_t>(sizeof(double))}, kU8);
  global_norm_cpu({grads.data(), reinterpret_cast<double*>(partial.raw()), max_norm, norm.data(),
                   clip_factor.data(), grads.numel()});
}

}  // namespace loopless
