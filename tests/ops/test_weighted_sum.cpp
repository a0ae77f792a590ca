#include "ops/weighted_sum/weighted_sum.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

/// The formula of the header on in = {terms...}.
auto reference_for(const std::vector<double>& weights) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    S sum = 0;
    for (size_t i = 0; i < in.size(); ++i) sum += static_cast<S>(weights[i]) * in[i][0];
    return std::vector<S>{sum};
  };
}

auto op_for(const std::vector<double>& weights) {
  return [=](const std::vector<Tensor>& in) { return weighted_sum(in, weights); };
}

std::vector<Tensor> random_terms(size_t count, float scale = 1.0f) {
  std::vector<Tensor> terms;
  for (size_t i = 0; i < count; ++i) terms.push_back(random_tensor({1}, i + 1, scale));
  return terms;
}

const std::vector<double> kWeights = {1.0, 0.1, -0.001};

TEST(WeightedSum, matches_reference) {
  expect_matches(weighted_sum(random_terms(3), kWeights), reference_for(kWeights), random_terms(3));
}

TEST(WeightedSum, gradient) {
  expect_gradient(op_for(kWeights), reference_for(kWeights), random_terms(3), true);
}

TEST(WeightedSum, edges) {
  for (const size_t count : {size_t{1}, size_t{kMaxWeightedTerms}}) {
    for (const float scale : {1.0f, 1e30f, 1e-30f}) {
      const std::vector<double> weights(count, 0.3);
      expect_matches(weighted_sum(random_terms(count, scale), weights), reference_for(weights),
                     random_terms(count, scale));
    }
  }
}

TEST(WeightedSum, edges_same_term_twice) {
  const Tensor x = leaf(Tensor::full({1}, 5.0f));
  const Tensor y = weighted_sum({x, x}, {2, 4});
  EXPECT_EQ(y.item(), 30);
  backward(y);
  EXPECT_EQ(grad_of(x).item(), 6);
}

TEST(WeightedSum, accumulates) { expect_accumulates(op_for(kWeights), random_terms(3)); }

TEST(WeightedSum, errors) {
  EXPECT_ERROR(weighted_sum({}, {}), "weighted_sum: needs 1 to 16 terms, got 0");
  EXPECT_ERROR(weighted_sum(random_terms(17), std::vector<double>(17, 1.0)),
               "weighted_sum: needs 1 to 16 terms, got 17");
  EXPECT_ERROR(weighted_sum(random_terms(2), kWeights),
               "weighted_sum: needs one weight a term, got 3 for 2");
  EXPECT_ERROR(weighted_sum({Tensor::zeros({1}), Tensor::zeros({2})}, {1, 1}),
               "weighted_sum: term 1 must be [1], got [2]");
}

}  // namespace
}  // namespace loopless::testing
