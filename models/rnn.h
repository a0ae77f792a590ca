/// The recurrent network: a Transformer cell f(m, x) -> m' and a readout of the memory.
#pragma once

#include "models/decoder.h"
#include "models/memory.h"

namespace loopless {

class Rnn {
 public:
  /// Throws Error if the sizes contradict each other (models/memory.h, check_config).
  Rnn(const RnnConfig& config, uint64_t seed);

  const RnnConfig& config() const { return config_; }

  /// m_{t+1} = f(m_t, x_{t+1}): memory [B, K, C] and ids i32 [B, 1] -> memory [B, K, C]. The
  /// memory tokens and the embedded input pass through full attention; the first K outputs are the
  /// memory.
  Tensor step(const Tensor& memory, const Tensor& ids) const;
  /// Logits of the next token: memory [B, K, C] -> [B, V].
  Tensor readout(const Tensor& memory) const;
  /// The memory of an empty past, zeros [B, K, C], as BPTT starts from.
  Tensor empty_memory(int64_t batch) const;

  /// "rnn.embed.weight", "rnn.cell.layer0...": what a step is computed with.
  NamedParameters cell_parameters();
  /// "rnn.readout.layer0...": what a readout is computed with.
  NamedParameters readout_parameters();
  /// Both.
  NamedParameters parameters();
  /// The readout's part of the list, named from "decoder." on, as Teacher::decoder_parameters.
  NamedParameters decoder_parameters();

 private:
  Rnn(const RnnConfig& config, Initializer init);

  RnnConfig config_;
  Tensor embed_weight_;  // [V, C]
  Transformer cell_;
  Decoder readout_;
};

}  // namespace loopless
