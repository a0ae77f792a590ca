#include "ops/mse/mse.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

/// The formula of the header on in = {a, b}.
const auto reference = []<class S>(const std::vector<std::vector<S>>& in) {
  S sum = 0;
  for (size_t i = 0; i < in[0].size(); ++i) {
    sum += (in[0][i] - in[1][i]) * (in[0][i] - in[1][i]);
  }
  return std::vector<S>{sum / static_cast<S>(in[0].size())};
};

Tensor op(const std::vector<Tensor>& in) { return mse(in[0], in[1]); }

TEST(Mse, matches_reference) {
  const int64_t rows = sized(300, 10);
  const std::vector<Tensor> inputs = {random_tensor({4, rows, 64}, 1),
                                      random_tensor({4, rows, 64}, 2)};
  expect_matches(op(inputs), reference, inputs);
}

TEST(Mse, gradient) {
  expect_gradient(op, reference, {random_tensor({2, 5}, 3), random_tensor({2, 5}, 4)}, true);
  for (const int64_t count : {1, 31, 32, 33, 4097}) {
    expect_gradient(op, reference, {random_tensor({count}, 5), random_tensor({count}, 6)});
  }
}

// The usual case: one side is a label. Each gradient is the same as when both are wanted.
TEST(Mse, gradient_of_one_side) {
  const Tensor a = leaf(random_tensor({33}, 7)), b = leaf(random_tensor({33}, 8));
  backward(mse(a, b));
  const Tensor only_a = leaf(a), only_b = leaf(b);
  backward(mse(only_a, detach(b)));
  backward(mse(detach(a), only_b));
  EXPECT_EQ(grad_of(only_a).to_vector(), grad_of(a).to_vector());
  EXPECT_EQ(grad_of(only_b).to_vector(), grad_of(b).to_vector());
}

TEST(Mse, edges) {
  EXPECT_EQ(mse(Tensor::empty({0, 8}), Tensor::empty({0, 8})).item(), 0);
  for (const int64_t count : {1, 31, 32, 33, 1023, 1025, 4095, 4096, 4097}) {
    for (const float scale : {1.0f, 1e15f, 1e-15f}) {
      const std::vector<Tensor> inputs = {random_tensor({count}, 9, scale),
                                          random_tensor({count}, 10, scale)};
      expect_matches(op(inputs), reference, inputs);
    }
  }
  expect_same_for_any_threads(op, {random_tensor({50001}, 11), random_tensor({50001}, 12)});
}

TEST(Mse, edges_same_tensor) {
  const Tensor x = leaf(random_tensor({33}, 13));
  const Tensor y = mse(x, x);
  EXPECT_EQ(y.item(), 0);
  backward(y);
  EXPECT_EQ(grad_of(x).to_vector(), std::vector<float>(33, 0.0f));
}

TEST(Mse, accumulates) {
  expect_accumulates(op, {random_tensor({70, 33}, 14), random_tensor({70, 33}, 15)});
}

TEST(Mse, errors) {
  const Tensor a = Tensor::zeros({2, 3});
  EXPECT_ERROR(mse(a, Tensor::zeros({3, 2})), "mse: b must be [2, 3] to match a, got [3, 2]");
  EXPECT_ERROR(mse(a, Tensor::zeros({2, 3}, kI32)), "mse: b must be f32, got i32");
  EXPECT_ERROR(mse(Tensor(), a), "mse: a is undefined");
}

}  // namespace
}  // namespace loopless::testing
