#include <numeric>

#include "ops/uniformity/uniformity.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

std::vector<int32_t> row_numbers(const Tensor& rows, int64_t all) {
  if (rows.defined()) return rows.to_vector<int32_t>();
  std::vector<int32_t> numbers(all);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// The formula of the header on in = {x [N, columns]}.
auto reference_for(const Tensor& rows, int64_t columns) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    const auto dot = [&](const S* a, const S* b) {
      return std::inner_product(a, a + columns, b, S{0});
    };
    std::vector<S> u;
    for (const int32_t row : row_numbers(rows, in[0].size() / columns)) {
      const S* x = in[0].data() + row * columns;
      const S norm = std::max(std::sqrt(dot(x, x)), static_cast<S>(1e-12));
      for (int64_t c = 0; c < columns; ++c) u.push_back(x[c] / norm);
    }
    S sum = 0, pairs = 0;
    for (const S* a = u.data(); a < u.data() + u.size(); a += columns) {
      for (const S* b = u.data(); b < a; b += columns, ++pairs) {
        S distance = 0;
        for (int64_t c = 0; c < columns; ++c) distance += (a[c] - b[c]) * (a[c] - b[c]);
        sum += std::exp(-2 * distance);
      }
    }
    return std::vector<S>{std::log(sum / pairs)};
  };
}

auto op_for(const Tensor& rows) {
  return [=](const std::vector<Tensor>& in) { return uniformity(in[0], rows); };
}

void expect_uniformity_matches(const Tensor& x, const Tensor& rows = {}) {
  expect_matches(uniformity(x, rows), reference_for(rows, x.columns()), {x});
}

TEST(Uniformity, matches_reference) {
  const int64_t n = sized(512, 40);
  expect_uniformity_matches(random_tensor({n, 64}, 1));
  expect_uniformity_matches(random_tensor({n / 4, 256}, 2), Tensor::from<int32_t>({3}, {9, 0, 5}));
}

// Memories close to each other: what is left of y is then the distances themselves.
TEST(Uniformity, edges_close_rows) {
  for (const float spread : {0.1f, 1e-2f, 1e-3f}) {
    const Tensor x = random_tensor({8, 64}, 7), one = random_tensor({64}, 8);
    for (int64_t i = 0; i < x.numel(); ++i) {
      x.data()[i] = one.data()[i % 64] + spread * x.data()[i];
    }
    expect_uniformity_matches(x);
  }
}

TEST(Uniformity, gradient) {
  const Tensor rows = Tensor::from<int32_t>({4}, {6, 1, 0, 3});
  expect_gradient(op_for({}), reference_for({}, 3), {random_tensor({5, 3}, 3)}, true);
  expect_gradient(op_for(rows), reference_for(rows, 3), {random_tensor({7, 3}, 4)}, true);
  for (const int64_t columns : {2, 31, 32, 33, 1025}) {
    expect_gradient(op_for({}), reference_for({}, columns), {random_tensor({18, columns}, 5)});
    expect_gradient(op_for(rows), reference_for(rows, columns), {random_tensor({7, columns}, 6)});
  }
}

TEST(Uniformity, edges) {
  for (const int64_t columns : {1, 31, 32, 33, 1023, 1025}) {
    for (const int64_t n : {2, 15, 16, 17, 33}) {
      for (const float scale : {1.0f, 1e15f, 1e-10f}) {
        expect_uniformity_matches(random_tensor({n, columns}, 7, scale));
      }
    }
  }
  expect_same_for_any_threads(op_for({}), {random_tensor({70, 129}, 8)});
}

// Collapsed memories: every distance is exactly 0, although no unit vector has length 1 exactly.
TEST(Uniformity, edges_equal_rows) {
  for (const int64_t columns : {3, 31, 256}) {
    const std::vector<float> row = random_tensor({columns}, 9).to_vector();
    std::vector<float> values;
    for (int i = 0; i < 21; ++i) values.insert(values.end(), row.begin(), row.end());
    EXPECT_EQ(uniformity(Tensor::from({21, columns}, values)).item(), 0);
  }
}

// A row shorter than 1e-12 is divided by that, a constant: its gradient is not projected.
TEST(Uniformity, edges_short_row) {
  const Tensor x = leaf(Tensor::from<float>({2, 2}, {1e-13f, 0, 3, 4}));
  const Tensor y = uniformity(x);
  EXPECT_NEAR(y.item(), -2 * 0.89, 4 * ulp(2));  // u = (0.1, 0) and (0.6, 0.8)
  backward(y);
  const std::vector<float> dx = grad_of(x).to_vector();
  EXPECT_NEAR(dx[0], 2.0 / 1e-12, 4 * ulp(2e12));  // du = 4 (u[1] - u[0])
  EXPECT_NEAR(dx[1], 3.2 / 1e-12, 4 * ulp(3.2e12));
  EXPECT_NEAR(dx[2], 0.256 / 5, 4 * ulp(3.2 / 5));  // du = -(2, 3.2), less its part along u
  EXPECT_NEAR(dx[3], -0.192 / 5, 4 * ulp(3.2 / 5));
}

TEST(Uniformity, edges_nan) {
  EXPECT_TRUE(std::isnan(uniformity(Tensor::from<float>({3, 1}, {1, NAN, 1})).item()));
}

TEST(Uniformity, accumulates) {
  expect_accumulates(op_for({}), {random_tensor({17, 33}, 10)});
  expect_accumulates(op_for(Tensor::from<int32_t>({3}, {4, 0, 2})), {random_tensor({6, 33}, 11)});
}

TEST(Uniformity, errors) {
  const Tensor x = Tensor::zeros({4, 3});
  EXPECT_ERROR(uniformity(Tensor::zeros({1, 3})), "uniformity: needs at least 2 rows, got 1");
  EXPECT_ERROR(uniformity(x, Tensor::from<int32_t>({1}, {2})),
               "uniformity: needs at least 2 rows, got 1");
  EXPECT_ERROR(uniformity(Tensor::zeros({12})), "uniformity: x must be [N, C], got [12]");
  EXPECT_ERROR(uniformity(x, Tensor::zeros({4})), "uniformity: rows must be i32, got f32");
  EXPECT_ERROR(uniformity(x, Tensor::zeros({2, 2}, kI32)),
               "uniformity: rows must be [n], got [2, 2]");
  EXPECT_ERROR(uniformity(x, Tensor::from<int32_t>({2}, {0, 4})),
               "uniformity: rows[1] must be in [0, 4), got 4");
  EXPECT_ERROR(uniformity(x, Tensor::from<int32_t>({2}, {-1, 0})),
               "uniformity: rows[0] must be in [0, 4), got -1");
  EXPECT_ERROR(uniformity(x, Tensor::from<int32_t>({3}, {2, 0, 2})),
               "uniformity: rows must be distinct, got 2 again at rows[2]");
}

}  // namespace
}  // namespace loopless::testing
