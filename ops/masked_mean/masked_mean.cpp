#include "ops/masked_mean/masked_mean.h"

namespace loopless {

Tensor count_valid(const Tensor& targets) {
  check_dtype("count_valid", "targets", targets, kI32);
  const Tensor count = Tensor::empty({1});
  count_valid_cpu({targets.data<int32_t>(), count.data(), targets.numel()});
  return count;
}

Tensor masked_mean(const Tensor& loss, const Tensor& targets, const MaskedMeanOptions& options) {
  check_dtype("masked_mean", "loss", loss);
  CHECK(loss.rank() == 2, "masked_mean: loss must be [B, T], got ", loss.shape());
  check_tensor("masked_mean", "targets", targets, loss.shape(), kI32);
  const Tensor count = options.count ? options.count : count_valid(targets);
  check_tensor("masked_mean", "count", count, {1});
  const double gamma = options.gamma;
  const int64_t rows = loss.size(0), columns = loss.size(1);
  const Tensor y = Tensor::empty({1});
  masked_mean_forward_cpu(
      {loss.data(), targets.data<int32_t>(), count.data(), y.data(), gamma, rows, columns});
  return record("masked_mean", y, {loss}, [=](const Tensor& dy, Gradients d) {
    const GradientTarget dloss = d[0].target();
    masked_mean_backward_cpu({.targets = targets.data<int32_t>(),
                              .count = count.data(),
                              .dy = dy.data(),
                              .dloss = dloss.data(),
                              .accumulate = dloss.accumulate,
                              .gamma = gamma,
                              .rows = rows,
                              .columns = columns});
  });
}

}  // namespace loopless
