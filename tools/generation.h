/// Text written by a trained RNN: readout -> token -> cell -> readout -> ...
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
};
/// Writes `length` tokens from `memory` on, handing each to `write` as soon as it is drawn. Draw i
/// depends on the seed and i alone. Only bytes are drawn, whatever the vocabulary.
void generate(const Rnn& rnn, Tensor memory, const GenerationConfig& config,
              const std::function<void(uint8_t)>& write);

}  // namespace loopless
