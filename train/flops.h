/// FLOP of the matrix products of a step, two per multiply-add: what a step cannot do without, and
/// so the floor its time is compared with. Causal attention counts the triangle; nothing is
/// pruned; backward counts twice the forward.
#pragma once

#include "train/config.h"

namespace loopless {

/// One SMT step: two encoder passes, the decoder with its logits and one step of the cell, forward
/// and backward. 4,818 GFLOP at the paper's sizes and batch 128.
double smt_flop(const TeacherConfig& teacher, const RnnConfig& rnn, const SmtConfig& smt,
                int64_t batch);

/// The least work of one DMT step: encodes at the label times and Td - 1 updates forward; backward
/// of the updates that carry loss; Td readouts forward and backward. 8,930 GFLOP at the paper's
/// sizes and batch 32. With the gradient through the whole rollout all updates go
/// backward; a hot teacher adds its own gradients and the decoder.
double dmt_flop(const TeacherConfig& teacher, const RnnConfig& rnn, const DmtConfig& dmt,
                int64_t batch);

/// One BPTT step: T updates and readouts, forward and backward.
double bptt_flop(const RnnConfig& rnn, const BpttConfig& bptt, int64_t batch);

}  // namespace loopless
