#include "ops/add/add.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

constexpr auto reference = []<class S>(const std::vector<std::vector<S>>& in) {
  std::vector<S> y(in[0].size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = in[0][i] + in[1][i];
  return y;
};

Tensor op(const std::vector<Tensor>& in) { return add(in[0], in[1]); }

std::vector<Tensor> random_inputs(const Shape& shape, float scale = 1.0f) {
  return {random_tensor(shape, 1, scale), random_tensor(shape, 2, scale)};
}

TEST(Add, matches_reference) {
  const std::vector<Tensor> inputs = random_inputs({sized(64, 4), 33, 17});
  EXPECT_EQ(op(inputs).to_vector(), reference(values_as<float>(inputs)));
}

TEST(Add, gradient) {
  expect_gradient(op, reference, random_inputs({3, 5}), true);
  expect_gradient(op, reference, random_inputs({sized(100, 10), 33}));
  // One tensor on both sides gets both contributions.
  const Tensor x = leaf(random_tensor({7}, 3));
  backward_from(add(x, x), Tensor::full({7}, 1.5f));
  EXPECT_EQ(grad_of(x).to_vector(), std::vector<float>(7, 3.0f));
}

TEST(Add, edges) {
  EXPECT_EQ(op(random_inputs({0, 8})).shape(), Shape({0, 8}));
  for (const int64_t count : {1, 31, 32, 33, 1023, 1025}) {
    for (const float scale : {1e30f, 1e-30f}) {
      const std::vector<Tensor> inputs = random_inputs({count}, scale);
      EXPECT_EQ(op(inputs).to_vector(), reference(values_as<float>(inputs)));
    }
  }
  const Tensor a = Tensor::from<float>({2}, {-INFINITY, 3e38f}), b = Tensor::full({2}, 3e38f);
  EXPECT_EQ(add(a, b).to_vector(), std::vector<float>({-INFINITY, INFINITY}));
  expect_same_for_any_threads(op, random_inputs({40000}));
}

TEST(Add, accumulates) { expect_accumulates(op, random_inputs({5, 33})); }

TEST(Add, errors) {
  EXPECT_ERROR(add(Tensor::zeros({2, 3}), Tensor::zeros({3, 2})),
               "add: a and b must have one shape, got [2, 3] and [3, 2]");
  EXPECT_ERROR(add(Tensor::zeros({2}), Tensor::zeros({2}, kI32)), "add: b must be f32, got i32");
  EXPECT_ERROR(add(Tensor(), Tensor::zeros({2})), "add: a is undefined");
}

}  // namespace
}  // namespace loopless::testing
