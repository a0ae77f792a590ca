/// Tokens written by a trained RNN: readout -> token -> cell -> readout -> ...
#pragma once

#include <cstdint>
#include <functional>

#include "models/rnn.h"
#include "tools/sampling.h"

namespace loopless {

struct GenerationConfig {
  int64_t length = 300;  // tokens
  Sampling sampling = {};
  uint64_t seed = 0;
  int64_t below = 256;  // only tokens below are drawn: bytes, whatever the vocabulary
};
/// Writes `length` tokens from each row of `memory` [B, K, C] on, handing each to `write`, with its
/// row, as soon as it is drawn. Draw i of a row depends on the seed, the row and i alone.
void generate(const Rnn& rnn, Tensor memory, const GenerationConfig& config,
              const std::function<void(int64_t row, uint8_t token)>& write);

}  // namespace loopless
