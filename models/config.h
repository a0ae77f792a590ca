/// Sizes of the two models of a run. Names and defaults are the reference implementation's.
#pragma once

#include <cstdint>
#include <optional>

namespace loopless {

/// Size of an attention head, whatever the width.
inline constexpr int64_t kHeadSize = 64;

/// What teacher and RNN have in common.
struct ModelConfig {
  int64_t vocab_size = 256;       // V
  int64_t mem_size = 256;         // floats in a memory: mem_tokens * d_model
  int64_t mem_tokens = 1;         // K
  bool mem_rms_norm = true;       // scale each memory token to root-mean-square one
  std::optional<double> mem_fsq;  // quantum of the memory's elements; none: not quantised
  int64_t d_model = 256;          // C
  int64_t decoder_depth = 4;      // layers of the decoder (teacher) or readout (RNN)
  int64_t n_heads = 8;            // H
  bool rotary_pos_emb = true;

  bool operator==(const ModelConfig&) const = default;
};

struct TeacherConfig : ModelConfig {
  int64_t encoder_depth = 8;
  bool operator==(const TeacherConfig&) const = default;
};

struct RnnConfig : ModelConfig {
  int64_t rnn_depth = 8;  // layers of the cell
  bool operator==(const RnnConfig&) const = default;
};

}  // namespace loopless
