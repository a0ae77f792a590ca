#include "train/flops.h"

namespace loopless {
namespace {

/// Layers over `tokens` tokens of one sequence: q, k, v and output maps, feed-forward, attention.
double stack_flop(const ModelConfig& config, int64_t depth, double tokens, bool is_causal) {
  const double C = static_cast<double>(config.d_model);
  const double inner = static_cast<double>(config.n_heads * kHeadSize);
  const double keys = is_causal ? (tokens + 1) / 2 : tokens;
  const double products = 2 * (4 * C * inner + 8 * C * C);
  return static_cast<double>(depth) * tokens * (products + 4 * keys * inner);
}

double logits_flop(const ModelConfig& config, double rows) {
  return 2 * rows * static_cast<double>(config.d_model * config.vocab_size);
}

double encoder_flop(const TeacherConfig& teacher, int64_t Tc) {
  const auto tokens = static_cast<double>(Tc + teacher.mem_tokens);
  return stack_flop(teacher, teacher.encoder_depth, tokens, false);
}

double decoder_flop(const TeacherConfig& teacher, int64_t Tf) {
  const auto tokens = static_cast<double>(Tf + teacher.mem_tokens);
  return stack_flop(teacher, teacher.decoder_depth, tokens, true) +
         logits_flop(teacher, static_cast<double>(Tf));
}

double update_flop(const RnnConfig& rnn) {
  return stack_flop(rnn, rnn.rnn_depth, static_cast<double>(rnn.mem_tokens + 1), false);
}

double readout_flop(const RnnConfig& rnn) {
  return stack_flop(rnn, rnn.decoder_depth, static_cast<double>(rnn.mem_tokens), true) +
         logits_flop(rnn, 1);
}

}  // namespace

double smt_flop(const TeacherConfig& teacher, const RnnConfig& rnn, const SmtConfig& smt,
                int64_t batch) {
  return 3 * static_cast<double>(batch) *
         (2 * encoder_flop(teacher, smt.Tc) + decoder_flop(teacher, smt.Tf) + update_flop(rnn));
}

double dmt_flop(const TeacherConfig& teacher, const RnnConfig& rnn, const DmtConfig& dmt,
                int64_t batch) {
  const auto labels = static_cast<double>((dmt.Td + dmt.k - 1) / dmt.k);
  const auto updates = static_cast<double>(dmt.Td - 1);
  const bool all_backward = dmt.grad == DmtGrad::kFullBptt || !dmt.detach_readout;
  const double backward_updates = all_backward ? updates : labels - 1;
  // A hot encoder's gradient goes through every label; a hot teacher also decodes after each. To
  // its input alone (a frozen decoder, a frozen encoder) the gradient costs half of a backward.
  const double encodes = dmt.hot_teacher_encoder ? 3 : 1;
  const double decodes =
      is_hot_teacher(dmt) ? (dmt.hot_teacher_encoder && dmt.hot_teacher_decoder) ? 3 : 2 : 0;
  return static_cast<double>(batch) * (labels * (encodes * encoder_flop(teacher, dmt.Tc) +
                                                 decodes * decoder_flop(teacher, dmt.Tf)) +
                                       (updates + 2 * backward_updates) * update_flop(rnn) +
                                       3 * static_cast<double>(dmt.Td) * readout_flop(rnn));
}

double bptt_flop(const RnnConfig& rnn, const BpttConfig& bptt, int64_t batch) {
  return 3 * static_cast<double>(batch * bptt.T) * (update_flop(rnn) + readout_flop(rnn));
}

}  // namespace loopless
