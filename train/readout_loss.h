/// The readout's loss over many memories, as DMT and BPTT need it.
#pragma once

#include "models/rnn.h"
#include "train/method.h"

namespace loopless {

/// Where the readout's loss is taken: memories [N, K, C], targets i32 [N], and the number of valid
/// targets of the whole batch, f32 [1].
struct ReadoutInput {
  Tensor memories;
  Tensor targets;
  Tensor target_count;
};

struct ReadoutResult {
  Tensor loss;     // f32 [1]: mean cross-entropy over valid targets
  Tensor loss_at;  // [N]
  Tensor logits;   // [N, V]
};

/// loss = sum_valid CE(readout(m_n), y_n) / count, in one pass.
ReadoutResult readout_loss(const Rnn& rnn, const ReadoutInput& input);

/// The same number, computed in chunks whose activations fit in memory; where recording is on,
/// each chunk's gradient, times `coefficient`, is added right away to the readout's parameters and
/// to `memories` if that is a leaf. The returned loss is outside the graph.
Tensor readout_loss_and_gradient(const Rnn& rnn, const ReadoutInput& input, double coefficient);

}  // namespace loopless
