#include "ops/fsq/fsq.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

/// In float only: the contract fixes all three roundings, so that the result is one exact number.
std::vector<float> reference(const Tensor& x, float q) {
  std::vector<float> y = x.to_vector();
  for (float& value : y) value = std::nearbyint(value / q) * q;
  return y;
}

/// Equal as bytes, so that 0 and -0 differ.
void expect_same_bytes(const Tensor& y, const std::vector<float>& expected) {
  ASSERT_EQ(y.numel(), static_cast<int64_t>(expected.size()));
  EXPECT_EQ(std::memcmp(y.raw(), expected.data(), y.bytes()), 0);
}

TEST(Fsq, matches_reference) {
  const Tensor x = random_tensor({sized(64, 4), 33, 17}, 1, 2.0f);
  for (const float q : {0.5f, 0.1f, 0.3f}) expect_same_bytes(fsq(x, q), reference(x, q));
  // Halves go to the even neighbour.
  const Tensor ties = Tensor::from<float>({6}, {0.25f, 0.75f, 1.25f, -0.25f, -0.75f, -1.25f});
  expect_same_bytes(fsq(ties, 0.5f), {0.0f, 1.0f, 1.0f, -0.0f, -1.0f, -1.0f});
}

// The derivative of a step function is zero almost everywhere: finite differences do not apply.
// The contract is that dx is dy, exactly.
TEST(Fsq, gradient) {
  const Tensor x = leaf(random_tensor({5, 33}, 2)), dy = random_tensor({5, 33}, 3);
  backward_from(fsq(x, 0.5f), dy);
  EXPECT_EQ(grad_of(x).to_vector(), dy.to_vector());
}

TEST(Fsq, edges) {
  EXPECT_EQ(fsq(Tensor::empty({0, 8}), 0.5f).shape(), Shape({0, 8}));
  for (const int64_t count : {1, 31, 32, 33, 1023, 1025}) {
    for (const float scale : {1.0f, 1e30f, 1e-30f}) {
      const Tensor x = random_tensor({count}, 4, scale);
      expect_same_bytes(fsq(x, 0.25f), reference(x, 0.25f));
    }
  }
  const Tensor x = Tensor::from<float>({5}, {-0.0f, -0.1f, INFINITY, -INFINITY, 3e38f});
  expect_same_bytes(fsq(x, 0.25f), {-0.0f, -0.0f, INFINITY, -INFINITY, INFINITY});
  EXPECT_TRUE(std::isnan(fsq(Tensor::full({1}, NAN), 0.25f).item()));
  expect_same_for_any_threads([](const std::vector<Tensor>& in) { return fsq(in[0], 0.1f); },
                              {random_tensor({40000}, 5)});
}

TEST(Fsq, accumulates) {
  expect_accumulates([](const std::vector<Tensor>& in) { return fsq(in[0], 0.5f); },
                     {random_tensor({5, 33}, 6)});
}

TEST(Fsq, errors) {
  const Tensor x = Tensor::zeros({4});
  EXPECT_ERROR(fsq(x, 0.0f), "fsq: q must be positive and finite, got 0");
  EXPECT_ERROR(fsq(x, -0.5f), "fsq: q must be positive and finite, got -0.5");
  EXPECT_ERROR(fsq(x, NAN), "fsq: q must be positive and finite, got nan");
  EXPECT_ERROR(fsq(Tensor::zeros({4}, kI32), 0.5f), "fsq: x must be f32, got i32");
}

}  // namespace
}  // namespace loopless::testing
