#include "tools/generation.h"

#include <algorithm>

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
              const std::function<void(uint8_t)>& write) {
  const NoGrad no_graph;
  const KeepWeightsPacked same_weights_every_step;
  const Philox random(config.seed, kDrawStream);
  const int64_t bytes = std::min<int64_t>(rnn.config().vocab_size, 256);
  int32_t token = 0;
  for (int64_t i = 0; i < config.length; ++i) {
    if (i > 0) memory = rnn.step(memory, Tensor::from<int32_t>({1, 1}, {token}));
    const Tensor logits = rnn.readout(memory);
    token = static_cast<int32_t>(
        sample_token(logits.data(), bytes, config.sampling, uniform(random, i)));
    write(static_cast<uint8_t>(token));
  }
}

}  // namespace loopless
