#include <limits>

#include "ops/cross_entropy/cross_entropy.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

/// The formula of the header, largest logit subtracted, on in = {logits [rows, columns]}.
auto reference_for(const Tensor& targets, int64_t columns) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    std::vector<S> loss(targets.numel());
    for (size_t r = 0; r < loss.size(); ++r) {
      const int32_t target = targets.data<int32_t>()[r];
      if (target < 0) continue;
      const S* x = in[0].data() + r * columns;
      const S largest = *std::max_element(x, x + columns);
      S sum = 0;
      for (int64_t c = 0; c < columns; ++c) sum += std::exp(x[c] - largest);
      loss[r] = std::log(sum) + (largest - x[target]);
    }
    return loss;
  };
}

auto op_for(const Tensor& targets) {
  return [=](const std::vector<Tensor>& in) { return cross_entropy(in[0], targets); };
}

void expect_cross_entropy_matches(const Tensor& logits, const Tensor& targets) {
  expect_matches(cross_entropy(logits, targets), reference_for(targets, logits.columns()),
                 {logits});
}

Tensor plus(const Tensor& x, float offset) {
  std::vector<float> values = x.to_vector();
  for (float& value : values) value += offset;
  return Tensor::from(x.shape(), values);
}

TEST(CrossEntropy, matches_reference) {
  const int64_t rows = sized(500, 20);
  for (const int64_t columns : {16, 256}) {
    const Tensor targets = random_ids({2, rows}, -1, static_cast<int32_t>(columns) - 1, 1);
    expect_cross_entropy_matches(random_tensor({2, rows, columns}, 2, 3.0f), targets);
  }
}

TEST(CrossEntropy, gradient) {
  const Tensor few = Tensor::from<int32_t>({2, 2}, {0, -1, 4, 2});
  expect_gradient(op_for(few), reference_for(few, 5), {random_tensor({2, 2, 5}, 3)}, true);
  for (const int64_t columns : {2, 31, 32, 33, 1025}) {
    const Tensor targets = random_ids({40}, -1, static_cast<int32_t>(columns) - 1, 4);
    const Tensor logits = random_tensor({40, columns}, 5, 2.0f);
    expect_gradient(op_for(targets), reference_for(targets, columns), {logits});
    // Large logits, where the logarithm of the sum is lost beside the largest one.
    expect_gradient(op_for(targets), reference_for(targets, columns), {plus(logits, 1e4f)});
  }
}

TEST(CrossEntropy, edges) {
  const Tensor none = Tensor::empty({3, 0}, kI32);
  EXPECT_EQ(cross_entropy(Tensor::empty({3, 0, 7}), none).shape(), Shape({3, 0}));
  EXPECT_EQ(cross_entropy(Tensor::zeros({4}), Tensor::zeros({}, kI32)).shape(), Shape());
  for (const int64_t columns : {1, 31, 32, 33, 1023, 1025}) {
    const Tensor targets = random_ids({5}, 0, static_cast<int32_t>(columns) - 1, 6);
    for (const float scale : {1.0f, 1e-5f, 1e4f, 1e30f}) {
      expect_cross_entropy_matches(random_tensor({5, columns}, 7, scale), targets);
    }
    // The loss is far smaller than the logits, and none of its digits may be lost in them.
    expect_cross_entropy_matches(plus(random_tensor({5, columns}, 7), 1e4f), targets);
  }
  const Tensor targets = random_ids({301}, -1, 98, 8);
  expect_same_for_any_threads(op_for(targets), {random_tensor({301, 99}, 9)});
}

TEST(CrossEntropy, edges_masked_logits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor logits = Tensor::from<float>({3}, {-kInfinity, 1, 1});
  const auto loss_of = [&](int32_t target) {
    return cross_entropy(logits, Tensor::from<int32_t>({}, {target})).item();
  };
  EXPECT_NEAR(loss_of(1), std::log(2.0), 2 * ulp(1));
  EXPECT_EQ(loss_of(0), kInfinity);
}

// Whatever an ignored row holds, nothing comes of it.
TEST(CrossEntropy, edges_ignored_targets) {
  const Tensor logits = leaf(Tensor::from<float>({2, 2}, {NAN, INFINITY, 0, 0}));
  const Tensor loss = cross_entropy(logits, Tensor::from<int32_t>({2}, {-1, 1}));
  EXPECT_EQ(loss.to_vector()[0], 0);
  backward_from(loss, Tensor::full({2}, 1.0f));
  EXPECT_EQ(grad_of(logits).to_vector(), std::vector<float>({0, 0, 0.5f, -0.5f}));
}

TEST(CrossEntropy, accumulates) {
  expect_accumulates(op_for(random_ids({70}, -1, 32, 10)), {random_tensor({70, 33}, 11)});
}

TEST(CrossEntropy, errors) {
  const Tensor logits = Tensor::zeros({2, 3, 5});
  EXPECT_ERROR(cross_entropy(logits, Tensor::from<int32_t>({2, 3}, {0, 1, 2, 3, 4, 5})),
               "cross_entropy: targets[1, 2] must be -1 or in [0, 5), got 5");
  EXPECT_ERROR(cross_entropy(logits, Tensor::from<int32_t>({2, 3}, {0, -2, 2, 3, 4, 0})),
               "cross_entropy: targets[0, 1] must be -1 or in [0, 5), got -2");
  EXPECT_ERROR(cross_entropy(logits, Tensor::zeros({6}, kI32)),
               "cross_entropy: targets must be [2, 3] to match logits [2, 3, 5], got [6]");
  EXPECT_ERROR(cross_entropy(logits, Tensor::zeros({2, 3})),
               "cross_entropy: targets must be i32, got f32");
  EXPECT_ERROR(cross_entropy(Tensor::zeros({2, 0}), Tensor::zeros({2}, kI32)),
               "cross_entropy: logits must be [..., V] with V > 0, got [2, 0]");
  EXPECT_ERROR(cross_entropy(Tensor::zeros({2, 5}, kI32), Tensor::zeros({2}, kI32)),
               "cross_entropy: logits must be f32, got i32");
}

}  // namespace
}  // namespace loopless::testing
