#include "ops/slice_tokens/slice_tokens.h"

namespace loopless {

Tensor slice_tokens(const Tensor& x, int64_t begin, int64_t count) {
  CHECK(x.defined(), "slice_tokens: x is undefined");
  CHECK(x.rank() >= 2, "slice_tokens: x must be [B, T, ...], got ", x.shape());
  CHECK(begin >= 0 && count >= 0 && count <= x.size(1) - begin, "slice_tokens: tokens [", begin,
        ", ", begin, " + ", count, ") are outside x ", x.shape());
  const Tensor y = Tensor::empty(x.shape().with(1, count), x.dtype(), x.device());
  const int64_t token_numel = x.shape().tail().tail().numel();
  const int64_t token_bytes = token_numel * size_of(x.dtype());
  slice_tokens_forward_cpu({.x = x.raw(),
                            .y = y.raw(),
                            .batch = x.size(0),
                            .x_bytes = x.size(1) * token_bytes,
                            .begin_bytes = begin * token_bytes,
                            .y_bytes = count * token_bytes});

  const Shape shape = x.shape();  // x itself need not live until backward
  return record("slice_tokens", y, {x}, [=](const Tensor& dy, Gradients d) {
    const GradientTarget dx = d[0].target();
    slice_tokens_backward_cpu({.dy = dy.data(),
                               .dx = dx.data(),
                               .accumulate = dx.accumulate,
                               .batch = shape[0],
                               .x_count = shape[1] * token_numel,
                               .begin = begin * token_numel,
                               .y_count = count * token_numel});
  });
}

}  // namespace loopless
