/// The last step that encoder and RNN share: hidden states become a memory.
#pragma once

#include "models/config.h"
#include "tensor/tensor.h"

namespace loopless {

/// h [B, K, C] -> m [B, K, C]: each token scaled to root-mean-square one (`mem_rms_norm`), then
/// rounded to multiples of `mem_fsq`. Paper, section 3: m_t lives on the same sphere however it
/// was made.
Tensor memory_of(const Tensor& h, const ModelConfig& config);

/// Throws Error unless d_model * mem_tokens == mem_size and all sizes are positive; `name` is
/// "teacher" or "rnn".
void check_config(const ModelConfig& config, const char* name);
/// Throws Error unless the RNN's memory and vocabulary are the teacher's, naming what differs.
void check_match(const TeacherConfig& teacher, const RnnConfig& rnn);
/// Throws Error unless the RNN's readout has the shape of the teacher's decoder.
void check_same_decoder(const TeacherConfig& teacher, const RnnConfig& rnn);

}  // namespace loopless
