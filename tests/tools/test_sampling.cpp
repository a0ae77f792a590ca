#include <cmath>
#include <numeric>
#include <vector>

#include "tests/support/op_test.h"
#include "tools/sampling.h"

namespace loopless::testing {
namespace {

constexpr double kLastDraw = 1 - 0x1p-53;  // the largest number below 1

int64_t sample(const std::vector<float>& logits, const Sampling& sampling, double draw) {
  return sample_token(logits.data(), static_cast<int64_t>(logits.size()), sampling, draw);
}

/// The probability of each token, to 1 / 2000: draws in equal steps meet it that often.
std::vector<double> frequencies(const std::vector<float>& logits, const Sampling& sampling) {
  constexpr int kDraws = 2000;
  std::vector<double> result(logits.size());
  for (int i = 0; i < kDraws; ++i) {
    result[sample(logits, sampling, (i + 0.5) / kDraws)] += 1.0 / kDraws;
  }
  return result;
}

std::vector<double> normalised(std::vector<double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

void expect_frequencies(const std::vector<float>& logits, const Sampling& sampling,
                        const std::vector<double>& weights) {
  EXPECT_LE(largest_difference(frequencies(logits, sampling), normalised(weights)), 1.0 / 2000);
}

const std::vector<float> kLogits = {0.5f, 2.0f, -1.0f, 1.0f, 0.0f};

TEST(Sampling, draws_from_the_softmax) {
  const auto e = [](double x) { return std::exp(x); };
  expect_frequencies(kLogits, {}, {e(0.5), e(2), e(-1), e(1), e(0)});
  expect_frequencies(kLogits, {.temperature = 0.5}, {e(1), e(4), e(-2), e(2), e(0)});
  expect_frequencies(kLogits, {.temperature = 1e12}, {1, 1, 1, 1, 1});
}

TEST(Sampling, top_k_keeps_the_likeliest) {
  const auto e = [](double x) { return std::exp(x); };
  expect_frequencies(kLogits, {.top_k = 2}, {0, e(2), 0, e(1), 0});
  expect_frequencies(kLogits, {.top_k = 1}, {0, 1, 0, 0, 0});
  expect_frequencies({0, 1, 2}, {.top_k = 9}, {1, e(1), e(2)});
}

TEST(Sampling, top_p_keeps_the_fewest_that_reach_p) {
  const std::vector<float> logits = {0, std::log(4.0f), std::log(3.0f), std::log(2.0f)};  // of 10
  expect_frequencies(logits, {.top_p = 0.1}, {0, 1, 0, 0});
  expect_frequencies(logits, {.top_p = 0.39}, {0, 1, 0, 0});
  expect_frequencies(logits, {.top_p = 0.41}, {0, 4, 3, 0});
  expect_frequencies(logits, {.top_p = 0.71}, {0, 4, 3, 2});
  expect_frequencies(logits, {.top_p = 1}, {1, 4, 3, 2});
  // Of the two that top_k leaves, the first has 4/7 of the probability.
  expect_frequencies(logits, {.top_k = 2, .top_p = 0.56}, {0, 1, 0, 0});
  expect_frequencies(logits, {.top_k = 2, .top_p = 0.58}, {0, 4, 3, 0});
}

TEST(Sampling, among_equals_the_smaller_token_comes_first) {
  EXPECT_EQ(sample({1, 3, 3, 3}, {.temperature = 0}, kLastDraw), 1);
  expect_frequencies({1, 3, 3, 3}, {.top_k = 2}, {0, 1, 1, 0});
  expect_frequencies({3, 3, 3, 3}, {.top_p = 0.5}, {1, 1, 0, 0});
}

TEST(Sampling, extreme_logits) {
  const float inf = INFINITY;
  EXPECT_EQ(sample({-inf, 0, -inf}, {}, 0), 1);
  EXPECT_EQ(sample({-inf, 0, -inf}, {}, kLastDraw), 1);
  EXPECT_EQ(sample({-inf, -inf, 0}, {.temperature = 0}, 0.5), 2);
  expect_frequencies({3e38f, -3e38f, 3e38f}, {}, {1, 0, 1});
  expect_frequencies({0, 1e-30f}, {.temperature = 1e-300}, {0, 1});
  EXPECT_EQ(sample({7}, {}, kLastDraw), 0);
}

TEST(Sampling, each_draw_ends_at_a_token_that_is_possible) {
  for (int size = 1; size < 200; ++size) {
    std::vector<float> logits = random_tensor({size}, size, 3).to_vector();
    logits.push_back(-INFINITY);
    EXPECT_LT(sample(logits, {}, kLastDraw), size);
    EXPECT_LT(sample(logits, {.top_p = 0.9}, kLastDraw), size);
  }
}

TEST(Sampling, errors) {
  EXPECT_ERROR(sample({0, NAN}, {}, 0), "sample_token: the logit of token 1 is nan");
  EXPECT_ERROR(sample({INFINITY}, {.temperature = 0}, 0),
               "sample_token: the logit of token 0 is inf");
  EXPECT_ERROR(sample({-INFINITY, -INFINITY}, {}, 0),
               "sample_token: none of the 2 tokens is possible");
  EXPECT_ERROR(sample({}, {}, 0), "sample_token: none of the 0 tokens is possible");
  EXPECT_ERROR(sample({0}, {.temperature = -1}, 0),
               "sample_token: temperature must be a number of at least 0, got -1");
  EXPECT_ERROR(sample({0}, {.temperature = NAN}, 0),
               "sample_token: temperature must be a number of at least 0, got nan");
  EXPECT_ERROR(sample({0}, {.top_k = -1}, 0), "sample_token: top_k must be at least 0, got -1");
  EXPECT_ERROR(sample({0}, {.top_p = 0}, 0), "sample_token: top_p must be in (0, 1], got 0");
  EXPECT_ERROR(sample({0}, {.top_p = 1.5}, 0), "sample_token: top_p must be in (0, 1], got 1.5");
  EXPECT_ERROR(sample({0}, {}, 1), "sample_token: draw must be in [0, 1), got 1");
}

}  // namespace
}  // namespace loopless::testing
