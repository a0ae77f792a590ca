#include "ops/concat_tokens/concat_tokens.h"

namespace loopless {
namespace {

void check_inputs(const Tensor& a, const Tensor& b) {
  CHECK(a.defined() && b.defined(), "concat_tokens: ", a.defined() ? "b" : "a", " is undefined");
  CHECK(a.rank() >= 2, "concat_tokens: a must be [B, T, ...], got ", a.shape());
  check_dtype("concat_tokens", "b", b, a.dtype());
  CHECK(b.rank() == a.rank() && b.shape().with(1, a.size(1)) == a.shape(),
        "concat_tokens: a and b may differ in dimension 1 alone, got ", a.shape(), " and ",
        b.shape());
}

/// Elements of one sequence of the batch.
int64_t sequence_numel(const Tensor& x) { return x.shape().tail().numel(); }

}  // namespace

Tensor concat_tokens(const Tensor& a, const Tensor& b) {
  check_inputs(a, b);
  const int64_t batch = a.size(0), a_count = sequence_numel(a), b_count = sequence_numel(b);
  const Tensor y = Tensor::empty(a.shape().with(1, a.size(1) + b.size(1)), a.dtype(), a.device());
  concat_tokens_forward_cpu({.a = a.raw(),
                             .b = b.raw(),
                             .y = y.raw(),
                             .batch = batch,
                             .a_bytes = a_count * size_of(a.dtype()),
                             .b_bytes = b_count * size_of(b.dtype())});

  return record("concat_tokens", y, {a, b}, [=](const Tensor& dy, Gradients d) {
    const GradientTarget da = d[0].target(), db = d[1].target();
    concat_tokens_backward_cpu({.dy = dy.data(),
                                .da = da.data(),
                                .db = db.data(),
                                .accumulate_da = da.accumulate,
                                .accumulate_db = db.accumulate,
                                .batch = batch,
                                .a_count = a_count,
                                .b_count = b_count});
  });
}

}  // namespace loopless
