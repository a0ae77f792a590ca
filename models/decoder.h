/// The causal decoder: memory tokens, then embedded future tokens, to logits.
#pragma once

#include "models/transformer.h"

namespace loopless {

/// The teacher's decoder, and the RNN's readout (the same on the memory alone).
class Decoder {
 public:
  Decoder(const ModelConfig& config, Initializer& init);

  /// tokens [B, T, C] -> logits [B, kept.count, V] at the kept tokens. The output at memory token
  /// K-1 predicts y_t, the one at future token j predicts y_{t+j} (paper, section 3).
  Tensor forward(const Tensor& tokens, TokenRange kept) const;

  void list_parameters(const std::string& prefix, NamedParameters& list);

 private:
  Transformer stack_;
  Tensor logits_weight_;  // [V, C]
  Tensor logits_bias_;    // [V]
};

}  // namespace loopless
