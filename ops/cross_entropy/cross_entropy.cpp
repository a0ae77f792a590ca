#include "ops/cross_entropy/cross_entropy.h"

namespace loopless {
namespace {

Shape leading_shape(const Shape& shape) {
  int64_t sizes[Shape::kMaxRank];
  for (int i = 0; i + 1 < shape.rank(); ++i) sizes[i] = shape[i];
  return Shape(sizes, shape.rank() - 1);
}

/// The index along each dimension of the element at `offset`: prints as "[2, 5]".
Shape index_of(int64_t offset, const Shape& shape) {
  int64_t index[Shape::kMaxRank];
  for (int i = shape.rank() - 1; i >= 0; --i) {
    index[i] = offset % shape[i];
    offset /= shape[i];
  }
  return Shape(index, shape.rank());
}

void check_inputs(const Tensor& logits, const Tensor& targets) {
  check_dtype("cross_entropy", "logits", logits);
  CHECK(logits.rank() > 0 && logits.columns() > 0,
        "cross_entropy: logits must be [..., V] with V > 0, got ", logits.shape());
  check_dtype("cross_entropy", "targets", targets, kI32);
  CHECK(targets.shape() == leading_shape(logits.shape()), "cross_entropy: targets must be ",
        leading_shape(logits.shape()), " to match logits ", logits.shape(), ", got ",
        targets.shape());
  const int32_t* target = targets.data<int32_t>();
  for (int64_t r = 0; r < targets.numel(); ++r) {
    CHECK(target[r] >= -1 && target[r] < logits.columns(), "cross_entropy: targets",
          index_of(r, targets.shape()), " must be -1 or in [0, ", logits.columns(), "), got ",
          target[r]);
  }
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets) {
  check_inputs(logits, targets);
  const int64_t rows = targets.numel(), columns = logits.columns();
  const Tensor loss = Tensor::empty(targets.shape());
  const Tensor statistics = Tensor::empty({rows, 2});
  cross_entropy_forward_cpu(
      {logits.data(), targets.data<int32_t>(), loss.data(), statistics.data(), rows, columns});
  return record("cross_entropy", loss, {logits}, [=](const Tensor& dloss, Gradients d) {
    const GradientTarget dlogits = d[0].target();
    cross_entropy_backward_cpu({.logits = logits.data(),
                                .targets = targets.data<int32_t>(),
                                .statistics = statistics.data(),
                                .dloss = dloss.data(),
                                .dlogits = dlogits.data(),
                                .accumulate = dlogits.accumulate,
                                .rows = rows,
                                .columns = columns});
  });
}

}  // namespace loopless
