#include "ops/gelu/gelu.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

constexpr auto reference = []<class S>(const std::vector<std::vector<S>>& in) {
  std::vector<S> y;
  for (const S x : in[0]) y.push_back(x * (1 + std::erf(x / std::sqrt(S{2}))) / 2);
  return y;
};

Tensor op(const std::vector<Tensor>& in) { return gelu(in[0]); }

TEST(Gelu, matches_reference) {
  const Tensor x = random_tensor({2, sized(300, 20), 33}, 1, 2.0f);
  expect_matches(gelu(x), reference, {x});
}

TEST(Gelu, gradient) {
  expect_gradient(op, reference, {random_tensor({3, 5}, 2)}, true);
  expect_gradient(op, reference, {random_tensor({sized(9000, 100)}, 3, 2.0f)});
}

TEST(Gelu, edges) {
  EXPECT_EQ(gelu(Tensor::empty({0, 8})).shape(), Shape({0, 8}));
  for (const int64_t count : {1, 31, 32, 33, 1023, 1025}) {
    for (const float scale : {1.0f, 10.0f, 1e30f, 1e-30f}) {
      const Tensor x = random_tensor({count}, 4, scale);
      expect_matches(gelu(x), reference, {x});
    }
  }
  // Far out, gelu is the identity or zero, and its derivative one or zero.
  const Tensor far = leaf(Tensor::from<float>({4}, {20.0f, -20.0f, 1e30f, -1e30f}));
  const Tensor y = gelu(far);
  EXPECT_EQ(y.to_vector(), std::vector<float>({20.0f, 0.0f, 1e30f, 0.0f}));
  backward_from(y, Tensor::full({4}, 3.0f));
  EXPECT_EQ(grad_of(far).to_vector(), std::vector<float>({3.0f, 0.0f, 3.0f, 0.0f}));
  expect_same_for_any_threads(op, {random_tensor({3 * 4096 + 5}, 5)});
}

TEST(Gelu, accumulates) { expect_accumulates(op, {random_tensor({5, 33}, 6)}); }

TEST(Gelu, errors) {
  EXPECT_ERROR(gelu(Tensor()), "gelu: x is undefined");
  EXPECT_ERROR(gelu(Tensor::zeros({4}, kI32)), "gelu: x must be f32, got i32");
}

}  // namespace
}  // namespace loopless::testing
