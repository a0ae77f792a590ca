#include "tools/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tensor/error.h"

namespace loopless {
namespace {

void check_inputs(const float* logits, int64_t count, const Sampling& sampling, double draw) {
  // Each condition is false for NaN.
  CHECK(sampling.temperature >= 0 && std::isfinite(sampling.temperature),
        "sample_token: temperature must be a number of at least 0, got ", sampling.temperature);
  CHECK(sampling.top_k >= 0, "sample_token: top_k must be at least 0, got ", sampling.top_k);
  CHECK(sampling.top_p > 0 && sampling.top_p <= 1, "sample_token: top_p must be in (0, 1], got ",
        sampling.top_p);
  CHECK(draw >= 0 && draw < 1, "sample_token: draw must be in [0, 1), got ", draw);
  bool some_possible = false;
  for (int64_t v = 0; v < count; ++v) {
    CHECK(logits[v] < std::numeric_limits<float>::infinity(), "sample_token: the logit of token ",
          v, " is ", logits[v]);
    some_possible |= std::isfinite(logits[v]);
  }
  CHECK(some_possible, "sample_token: none of the ", count, " tokens is possible");
}

/// Tokens, the likeliest first.
std::vector<int64_t> ranked(const float* logits, int64_t count) {
  std::vector<int64_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), 0);
  std::stable_sort(tokens.begin(), tokens.end(),
                   [&](int64_t a, int64_t b) { return logits[a] > logits[b]; });
  return tokens;
}

/// How many of the weights, largest first, top_p keeps.
int64_t nucleus(const std::vector<double>& weights, double top_p) {
  const double needed = top_p * std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  int64_t kept = 0;
  while (kept < static_cast<int64_t>(weights.size()) && sum < needed) sum += weights[kept++];
  return kept;
}

}  // namespace

int64_t sample_token(const float* logits, int64_t count, const Sampling& sampling, double draw) {
  check_inputs(logits, count, sampling, draw);
  const std::vector<int64_t> tokens = ranked(logits, count);
  if (sampling.temperature == 0) return tokens[0];

  const int64_t candidates = sampling.top_k == 0 ? count : std::min(sampling.top_k, count);
  std::vector<double> weights(candidates);
  const double largest = logits[tokens[0]];
  for (int64_t i = 0; i < candidates; ++i) {
    weights[i] = std::exp((logits[tokens[i]] - largest) / sampling.temperature);
  }
  weights.resize(nucleus(weights, sampling.top_p));

  // Rounded or not, the product with a number below 1 is less than the sum: the walk ends in time.
  const double target = draw * std::accumulate(weights.begin(), weights.end(), 0.0);
  int64_t i = 0;
  for (double sum = weights[0]; sum <= target; sum += weights[i]) ++i;
  return tokens[i];
}

}  // namespace loopless
