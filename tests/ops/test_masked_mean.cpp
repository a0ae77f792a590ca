#include "ops/masked_mean/masked_mean.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

/// The formula of the header on in = {loss [B, T]}; the divisor is the number of valid targets.
auto reference_for(const Tensor& targets, double gamma) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    S sum = 0, count = 0;
    for (int64_t i = 0; i < targets.numel(); ++i) {
      if (targets.data<int32_t>()[i] < 0) continue;
      sum += std::pow(static_cast<S>(gamma), static_cast<S>(i % targets.size(1))) * in[0][i];
      count += 1;
    }
    return std::vector<S>{count > 0 ? sum / count : 0};
  };
}

auto op_for(const Tensor& targets, const MaskedMeanOptions& options) {
  return [=](const std::vector<Tensor>& in) { return masked_mean(in[0], targets, options); };
}

/// About every second target is ignored.
Tensor random_targets(const Shape& shape, uint64_t seed) {
  Tensor targets = random_ids(shape, -3, 3, seed);
  for (int64_t i = 0; i < targets.numel(); ++i) {
    int32_t& target = targets.data<int32_t>()[i];
    target = std::max(target, -1);
  }
  return targets;
}

TEST(MaskedMean, matches_reference) {
  const Tensor loss = random_tensor({128, 64}, 1), targets = random_targets({128, 64}, 2);
  for (const double gamma : {1.0, 0.9, 0.0}) {
    expect_matches(masked_mean(loss, targets, {.gamma = gamma}), reference_for(targets, gamma),
                   {loss});
  }
}

TEST(MaskedMean, gradient) {
  const Tensor few = Tensor::from<int32_t>({2, 3}, {5, -1, 0, -1, 7, 1});
  for (const double gamma : {1.0, 0.9, 0.0}) {
    const MaskedMeanOptions options{.gamma = gamma};
    expect_gradient(op_for(few, options), reference_for(few, gamma), {random_tensor({2, 3}, 3)},
                    true);
    const Tensor targets = random_targets({7, 33}, 4);
    expect_gradient(op_for(targets, options), reference_for(targets, gamma),
                    {random_tensor({7, 33}, 5)});
  }
}

TEST(MaskedMean, edges) {
  EXPECT_EQ(masked_mean(Tensor::empty({0, 8}), Tensor::empty({0, 8}, kI32)).item(), 0);
  EXPECT_EQ(masked_mean(Tensor::empty({8, 0}), Tensor::empty({8, 0}, kI32)).item(), 0);
  for (const int64_t columns : {1, 31, 32, 33, 1023, 1025}) {
    for (const float scale : {1.0f, 1e15f, 1e-15f}) {
      const Tensor loss = random_tensor({3, columns}, 6, scale);
      const Tensor targets = random_targets({3, columns}, 7);
      expect_matches(masked_mean(loss, targets, {.gamma = 0.99}), reference_for(targets, 0.99),
                     {loss});
    }
  }
  expect_same_for_any_threads(op_for(random_targets({300, 200}, 8), {.gamma = 0.9}),
                              {random_tensor({300, 200}, 9)});
}

TEST(MaskedMean, edges_no_valid_target) {
  const Tensor loss = leaf(random_tensor({2, 2}, 10));
  const Tensor y = masked_mean(loss, Tensor::from<int32_t>({2, 2}, {-1, -1, -1, -1}));
  EXPECT_EQ(y.item(), 0);
  backward(y);
  EXPECT_EQ(grad_of(loss).to_vector(), std::vector<float>(4, 0.0f));
}

TEST(MaskedMean, edges_ignored_nan) {
  const Tensor loss = leaf(Tensor::from<float>({1, 3}, {NAN, 3, 5}));
  const Tensor y = masked_mean(loss, Tensor::from<int32_t>({1, 3}, {-1, 0, 0}));
  EXPECT_EQ(y.item(), 4);
  backward(y);
  EXPECT_EQ(grad_of(loss).to_vector(), std::vector<float>({0, 0.5f, 0.5f}));
}

// Gradient accumulation: pieces of a batch, each over the whole batch's count, add up to its mean.
TEST(MaskedMean, edges_pieces_add_up) {
  const Tensor loss = random_tensor({6, 9}, 11), targets = random_targets({6, 9}, 12);
  const MaskedMeanOptions options{.gamma = 0.9, .count = count_valid(targets)};
  float sum = 0;
  for (const int64_t begin : {0, 2, 4}) {
    sum += masked_mean(loss.view_rows(begin, 2), targets.view_rows(begin, 2), options).item();
  }
  // Three roundings of the pieces and two of their sums, half a unit each.
  EXPECT_NEAR(sum, masked_mean(loss, targets, {.gamma = 0.9}).item(), 3 * ulp(1));
}

TEST(MaskedMean, edges_count_valid) {
  EXPECT_EQ(count_valid(Tensor::from<int32_t>({2, 2, 1}, {-1, 0, -7, 3})).item(), 2);
  EXPECT_EQ(count_valid(Tensor::empty({0}, kI32)).item(), 0);
}

TEST(MaskedMean, accumulates) {
  expect_accumulates(op_for(random_targets({7, 33}, 13), {.gamma = 0.9}),
                     {random_tensor({7, 33}, 14)});
}

TEST(MaskedMean, errors) {
  const Tensor loss = Tensor::zeros({2, 3}), targets = Tensor::zeros({2, 3}, kI32);
  EXPECT_ERROR(masked_mean(Tensor::zeros({6}), targets),
               "masked_mean: loss must be [B, T], got [6]");
  EXPECT_ERROR(masked_mean(loss, Tensor::zeros({3, 2}, kI32)),
               "masked_mean: targets must be [2, 3], got [3, 2]");
  EXPECT_ERROR(masked_mean(loss, loss), "masked_mean: targets must be i32, got f32");
  EXPECT_ERROR(masked_mean(loss, targets, {.count = Tensor::zeros({2})}),
               "masked_mean: count must be [1], got [2]");
  EXPECT_ERROR(count_valid(loss), "count_valid: targets must be i32, got f32");
}

}  // namespace
}  // namespace loopless::testing
