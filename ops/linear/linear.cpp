#include "ops/linear/linear.h"

#include <map>
#include <memory>
#include <tuple>

#include "ops/linear/matmul.h"

namespace loopless {
namespace {

void check_inputs(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_dtype("linear", "x", x);
  check_dtype("linear", "weight", weight);
  CHECK(x.rank() > 0, "linear: x must be [..., C], got ", x.shape());
  CHECK(weight.rank() == 2 && weight.columns() == x.columns(), "linear: weight must be [any, ",
        x.columns(), "] to match x ", x.shape(), ", got ", weight.shape());
  if (!bias.defined()) return;
  check_dtype("linear", "bias", bias);
  CHECK(bias.shape() == Shape({weight.size(0)}), "linear: bias must be [", weight.size(0),
        "] to match weight ", weight.shape(), ", got ", bias.shape());
}

/// A packed weight, and the handle that keeps its address from being used for another one.
struct Packed {
  Tensor weight;
  std::unique_ptr<PackedMatrix> matrix;
};
using PackedWeights = std::map<std::tuple<const float*, int64_t, int64_t, bool>, Packed>;

thread_local std::unique_ptr<PackedWeights> packed_weights;

/// The weight, or its transpose, as the right-hand side of products; null outside
/// KeepWeightsPacked.
const PackedMatrix* packed(const Tensor& weight, bool transpose) {
  if (!packed_weights) return nullptr;
  const int64_t rows = weight.size(0), columns = weight.size(1);
  Packed& entry = (*packed_weights)[{weight.data(), rows, columns, transpose}];
  if (!entry.matrix) {
    const int64_t n = transpose ? rows : columns, k = transpose ? columns : rows;
    entry.weight = detach(weight);
    entry.matrix = std::make_unique<PackedMatrix>(n, k, weight.data(), transpose);
  }
  return entry.matrix.get();
}

void write_bias_gradient(const Tensor& dy, const Gradient& d) {
  if (!d.wanted()) return;
  const GradientTarget dbias = d.target();
  const Tensor partial = Tensor::empty({kColumnSumBlocks, dy.columns()}, kF32, dy.device());
  column_sum_cpu({.x = dy.data(),
                  .sum = dbias.data(),
                  .partial = partial.data(),
                  .rows = dy.row_count(),
                  .columns = dy.columns(),
                  .accumulate = dbias.accumulate});
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_inputs(x, weight, bias);
  const int64_t rows = x.row_count(), inputs = x.columns(), outputs = weight.size(0);
  const Tensor y = Tensor::empty(x.shape().with(-1, outputs), kF32, x.device());
  matmul({.m = rows,
          .n = outputs,
          .k = inputs,
          .a = x.data(),
          .b = weight.data(),
          .transpose_b = true,
          .c = y.data(),
          .bias = bias.defined() ? bias.data() : nullptr,
          .packed_b = packed(weight, true)});

  const Tensor saved_x = needs_grad({weight}) ? x : Tensor();
  const Tensor saved_weight = needs_grad({x}) ? weight : Tensor();
  return record("linear", y, {x, weight, bias}, [=](const Tensor& dy, Gradients d) {
    if (d[0].wanted()) {
      const GradientTarget dx = d[0].target();
      matmul({.m = rows,
              .n = inputs,
              .k = outputs,
              .a = dy.data(),
              .b = saved_weight.data(),
              .c = dx.data(),
              .accumulate = dx.accumulate,
              .packed_b = packed(saved_weight, false)});
    }
    if (d[1].wanted()) {
      const GradientTarget dweight = d[1].target();
      matmul({.m = outputs,
              .n = inputs,
              .k = rows,
              .a = dy.data(),
              .transpose_a = true,
              .b = saved_x.data(),
              .c = dweight.data(),
              .accumulate = dweight.accumulate});
    }
    write_bias_gradient(dy, d[2]);
  });
}

KeepWeightsPacked::KeepWeightsPacked() : is_outermost_(!packed_weights) {
  if (is_outermost_) packed_weights = std::make_unique<PackedWeights>();
}

KeepWeightsPacked::~KeepWeightsPacked() {
  if (is_outermost_) packed_weights.reset();
}

}  // namespace loopless
