#include "ops/concat_rows/concat_rows.h"

namespace loopless {
namespace {

void check_inputs(const std::vector<Tensor>& inputs) {
  CHECK(!inputs.empty(), "concat_rows: there must be at least one input");
  const Tensor& first = inputs[0];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    CHECK(x.defined(), "concat_rows: input ", i, " is undefined");
    CHECK(x.rank() > 0, "concat_rows: input ", i, " must be [b, ...], got ", x.shape());
    CHECK(x.dtype() == first.dtype(), "concat_rows: input ", i, " must be ", first.dtype(),
          " like input 0, got ", x.dtype());
    CHECK(x.shape().tail() == first.shape().tail(), "concat_rows: input ", i, " must be ",
          first.shape(), " but for the leading size, got ", x.shape());
  }
}

}  // namespace

Tensor concat_rows(const std::vector<Tensor>& inputs) {
  check_inputs(inputs);
  std::vector<int64_t> begins{0};
  for (const Tensor& x : inputs) begins.push_back(begins.back() + x.size(0));
  const Tensor& first = inputs[0];
  const Tensor y =
      Tensor::empty(first.shape().with(0, begins.back()), first.dtype(), first.device());
  for (size_t i = 0; i < inputs.size(); ++i) {
    y.view_rows(begins[i], inputs[i].size(0)).copy_from(inputs[i]);
  }

  return record("concat_rows", y, inputs, [begins](const Tensor& dy, Gradients d) {
    for (size_t i = 0; i < d.size(); ++i) {
      d[i].take(dy.view_rows(begins[i], begins[i + 1] - begins[i]));
    }
  });
}

}  // namespace loopless
