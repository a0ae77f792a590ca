/// Drawing the next token from a readout's logits.
///
///   p[v] = exp((logits[v] - largest) / temperature) / sum
///
/// top_k keeps the k likeliest tokens; of these, top_p keeps the fewest likeliest whose share of
/// their probability reaches p. Among equals the smaller token counts as likelier. Temperature 0
/// is the likeliest token itself.
#pragma once

#include <cstdint>

namespace loopless {

struct Sampling {
  double temperature = 1;
  int64_t top_k = 0;  // 0: all tokens
  double top_p = 1;
};

/// The token at `draw`, a number in [0, 1), of the distribution; all sums are in double.
/// Throws Error if a setting is out of range, `count` is 0, or a logit is NaN or infinite (minus
/// infinity, an impossible token, is legal unless every token is impossible).
int64_t sample_token(const float* logits, int64_t count, const Sampling& sampling, double draw);

}  // namespace loopless
