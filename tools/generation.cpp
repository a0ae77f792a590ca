#include "tools/generation.h"

#include <algorithm>
#include <vector>

#include "autograd/autograd.h"
#include "ops/linear/linear.h"
#include "tensor/philox.h"

namespace loopless {
namespace {

constexpr uint64_t kDrawStream = 0x64726177;  // apart from the streams of training

/// A multiple of 2^-53 in [0, 1).
double uniform(const Philox& random, uint64_t index) {
  const uint64_t high = random.bits(2 * index) >> 5, low = random.bits(2 * index + 1) >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

}  // namespace

void generate(const Rnn& rnn, Tensor memory, const GenerationConfig& config,
              const std::function<void(int64_t row, uint8_t token)>& write) {
  const NoGrad no_graph;
  const KeepWeightsPacked same_weights_every_step;
  const Philox random(config.seed, kDrawStream);
  const int64_t rows = memory.shape()[0], vocab_size = rnn.config().vocab_size;
  const int64_t candidates = std::min(vocab_size, config.below);
  std::vector<int32_t> tokens(rows);
  for (int64_t i = 0; i < config.length; ++i) {
    if (i > 0) memory = rnn.step(memory, Tensor::from({rows, 1}, tokens));
    const Tensor logits = rnn.readout(memory);
    for (int64_t row = 0; row < rows; ++row) {
      const double draw = uniform(random, static_cast<uint64_t>(row) << 32 | i);
      tokens[row] = static_cast<int32_t>(
          sample_token(logits.data() + row * vocab_size, candidates, config.sampling, draw));
      write(row, static_cast<uint8_t>(tokens[row]));
    }
  }
}

}  // namespace loopless
