#include "train/readout_loss.h"

#include <algorithm>

#include "autograd/accumulate.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/masked_mean/masked_mean.h"
#include "ops/weighted_sum/weighted_sum.h"

namespace loopless {
namespace {

/// Floats of memory in one chunk: 16,384 tokens of width 256. Its saved activations, about 14
/// floats for each of these and layer, then stay below a gigabyte at the paper's depth of four.
constexpr int64_t kChunkFloats = int64_t{1} << 22;

}  // namespace

ReadoutResult readout_loss(const Rnn& rnn, const ReadoutInput& input) {
  const int64_t count = input.targets.numel();
  ReadoutResult r;
  r.logits = rnn.readout(input.memories);
  r.loss_at = cross_entropy(r.logits, input.targets);
  r.loss = masked_mean(reshape(r.loss_at, {1, count}), input.targets.view({1, count}),
                       {.count = input.target_count});
  return r;
}

Tensor readout_loss_and_gradient(const Rnn& rnn, const ReadoutInput& input, double coefficient) {
  const int64_t total = input.targets.numel();
  const int64_t chunk =
      std::max<int64_t>(1, kChunkFloats / std::max<int64_t>(1, rnn.config().mem_size));
  const Tensor loss = Tensor::zeros({1});
  for (int64_t begin = 0; begin < total; begin += chunk) {
    const int64_t count = std::min(chunk, total - begin);
    const ReadoutInput part{rows(input.memories, begin, count),
                            input.targets.view_rows(begin, count), input.target_count};
    const Tensor part_loss = readout_loss(rnn, part).loss;
    const Tensor weighted = weighted_sum({part_loss}, {coefficient});
    if (needs_grad({weighted})) backward(weighted);
    accumulate_into(loss, part_loss);
  }
  return loss;
}

}  // namespace loopless
