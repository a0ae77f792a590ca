/// The teacher: an encoder that turns a context into a memory, and a decoder that must predict the
/// future from it (paper, section 3).
#pragma once

#include "models/decoder.h"
#include "models/memory.h"

namespace loopless {

class Teacher {
 public:
  /// Throws Error if the sizes contradict each other (models/memory.h, check_config).
  Teacher(const TeacherConfig& config, uint64_t seed);

  const TeacherConfig& config() const { return config_; }

  /// m_t = encoder(x): context ids i32 [B, Tc] -> memory [B, K, C]. The embedded context is
  /// followed by K learned register tokens; their outputs are the memory. With `is_padded`, ids of
  /// -1 are padding that no token attends to.
  Tensor encode(const Tensor& context, bool is_padded = false) const;
  /// memory [B, K, C] and future ids i32 [B, n] -> logits [B, n + 1, V] of y_t ... y_{t+n}.
  Tensor decode(const Tensor& memory, const Tensor& future) const;

  /// "teacher.embed.weight", "teacher.encoder.layer0.attention.qkv.weight", ...
  NamedParameters parameters();
  /// The decoder's part of the list, named from "decoder." on: what the RNN's readout starts from.
  NamedParameters decoder_parameters();

 private:
  Teacher(const TeacherConfig& config, Initializer init);

  TeacherConfig config_;
  Tensor embed_weight_;     // [V, C], shared by encoder and decoder
  Tensor register_weight_;  // [K, C]
  Transformer encoder_;
  Decoder decoder_;
};

}  // namespace loopless
