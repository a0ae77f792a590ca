#include "ops/uniformity/uniformity.h"

namespace loopless {
namespace {

void check_inputs(const Tensor& x, const Tensor& rows) {
  check_dtype("uniformity", "x", x);
  CHECK(x.rank() == 2, "uniformity: x must be [N, C], got ", x.shape());
  if (rows) {
    check_dtype("uniformity", "rows", rows, kI32);
    CHECK(rows.rank() == 1, "uniformity: rows must be [n], got ", rows.shape());
  }
  const int64_t n = rows ? rows.numel() : x.size(0);
  CHECK(n >= 2, "uniformity: needs at least 2 rows, got ", n);
  if (!rows) return;
  const int32_t* row = rows.data<int32_t>();
  const Tensor taken = Tensor::zeros({x.size(0)}, kU8);
  for (int64_t i = 0; i < n; ++i) {
    CHECK(row[i] >= 0 && row[i] < x.size(0), "uniformity: rows[", i, "] must be in [0, ", x.size(0),
          "), got ", row[i]);
    uint8_t& is_taken = taken.data<uint8_t>()[row[i]];
    CHECK(!is_taken, "uniformity: rows must be distinct, got ", row[i], " again at rows[", i, "]");
    is_taken = 1;
  }
}

int64_t padded_rows(int64_t n) {
  return (n + kUniformityBlock - 1) / kUniformityBlock * kUniformityBlock;
}

/// Elements from one row of u to the next: an odd number of cache lines. A power of two would put
/// the same column of all rows into a few sets of the cache.
int64_t padded_columns(int64_t columns) {
  constexpr int64_t kLine = 16;  // f32 of a cache line
  return ((columns + kLine - 1) / kLine | 1) * kLine;
}

const int32_t* row_data(const Tensor& rows) { return rows ? rows.data<int32_t>() : nullptr; }

}  // namespace

Tensor uniformity(const Tensor& x, const Tensor& rows) {
  check_inputs(x, rows);
  const int64_t n = rows ? rows.numel() : x.size(0), padded = padded_rows(n);
  const int64_t columns = x.size(1), stride = padded_columns(columns);
  const Tensor u = Tensor::empty({padded, stride}), inverse_norm = Tensor::empty({n});
  const Tensor laplacian = Tensor::empty({padded, padded});
  const Tensor sum = Tensor::empty({1}), y = Tensor::empty({1});
  uniformity_forward_cpu({.x = x.data(),
                          .rows = row_data(rows),
                          .u = u.data(),
                          .inverse_norm = inverse_norm.data(),
                          .laplacian = laplacian.data(),
                          .sum = sum.data(),
                          .y = y.data(),
                          .n = n,
                          .padded = padded,
                          .columns = columns,
                          .stride = stride});

  return record("uniformity", y, {x}, [=](const Tensor& dy, Gradients d) {
    const GradientTarget dx = d[0].target();
    if (!dx.accumulate) dx.tensor.zero();
    const Tensor pull = Tensor::empty(u.shape());
    uniformity_backward_cpu({.rows = row_data(rows),
                             .u = u.data(),
                             .inverse_norm = inverse_norm.data(),
                             .laplacian = laplacian.data(),
                             .sum = sum.data(),
                             .dy = dy.data(),
                             .pull = pull.data(),
                             .dx = dx.data(),
                             .n = n,
                             .padded = padded,
                             .columns = columns,
                             .stride = stride});
  });
}

}  // namespace loopless
