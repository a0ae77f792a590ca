/// DAgger memory training (paper, section 3.3): the cell runs on its own memories and is regressed
/// onto those of the frozen encoder, so that its errors no longer add up.
///
///   m^_0 = m_0 = encoder(x[0 : Tc]),   m^_{t+1} = f(m^_t, x[Tc + t])
///   m_t       = encoder(x[t : t+Tc])                    at t = 0, k, 2k, ... < Td
///   L_dyn     = mean over those t of (m^_t - m_t)^2      (the zero term of t = 0 included)
///   L_readout = mean over t < Td of CE(readout(m^_t), y[Tc-1+t])
///   loss      = coef_dyn L_dyn + coef_readout L_readout
///
/// Where the teacher is hot (hot_teacher_encoder, hot_teacher_decoder) its own terms are added:
///
///   L_dec  = mean over the label times t and j < Tf of CE(decoder(m_t, x[t+Tc : t+Tc+Tf])_j,
///            y[t+Tc-1+j])
///   L_unif = log mean_{i != j} exp(-2 |u_i - u_j|^2),  u = whole memories m_t of unit norm, over
///            batch and label times
///   loss  += coef_dec L_dec + coef_unif L_unif
///
/// and with a hot encoder L_dyn (and an attached readout, at t = 0) reaches it too: the labels are
/// no constants then. With a frozen teacher both terms are constants, and are not computed.
///
/// With `grad` detach each step's input memory is taken as given, so a gradient reaches back one
/// step and the work splits in two phases: (1) the rollout, sequential, without a graph; (2) one
/// batched step over the (m^_{t-1}, x) pairs whose result carries loss, and one batched readout.
/// Phase 2 is as parallel as SMT. With `grad` full_bptt the rollout is recorded and the gradient
/// goes through it.
#pragma once

#include "models/rnn.h"
#include "models/teacher.h"
#include "train/config.h"
#include "train/method.h"

namespace loopless {

/// What one piece of a batch is computed from; times outermost.
struct DmtBatch {
  Tensor contexts;           // i32 [n, B, Tc]: x[t : t+Tc] at the n label times
  bool has_padding = false;  // some context token is -1
  Tensor tokens;             // i32 [Td-1, B]: x[Tc + t], which turns m^_t into m^_{t+1}
  Tensor targets;            // i32 [Td, B]: y[Tc-1 + t]
  Tensor target_count;       // f32 [1]: valid targets of the whole batch
  double share = 1;          // of the whole batch's rows

  // For a hot teacher; undefined otherwise. Rows are the label times, each with all sequences.
  Tensor future;          // i32 [n B, Tf-1]: x[t+Tc : t+Tc+Tf-1], padding as token 0
  Tensor future_targets;  // i32 [n B, Tf]: y[t+Tc-1 : t+Tc-1+Tf]
  Tensor future_count;    // f32 [1]: valid ones of them in the whole batch
  Tensor unif_rows;       // i32 [at most 512]: rows of L_unif; undefined: all
};
/// Throws Error if the windows are shorter than Tc + Td - 1 or a token the cell reads is padding.
DmtBatch make_dmt_batch(const Windows& windows, Piece rows, const DmtConfig& config,
                        DrawKey draw = {});

struct DmtResult {
  Tensor loss, loss_dyn, loss_readout;  // f32 [1], this piece's share, outside the graph
  Tensor loss_dec, loss_unif;           // the same; undefined with a frozen teacher
  Tensor labels;                        // m_t at the label times: [n, B, K, C]
  Tensor memories;                      // m^_t: [Td, B, K, C]
};
/// Where recording is on, also adds the gradient to the parameters that are trained. (Where it is
/// off L_unif is left out: it compares the rows of a piece with each other.)
DmtResult dmt_step(const Teacher& teacher, const Rnn& rnn, const DmtBatch& batch,
                   const DmtConfig& config);

/// m_t of the contexts [n, B, Tc], without a graph: [n, B, K, C].
Tensor encode_labels(const Teacher& teacher, const Tensor& contexts, bool has_padding);
/// m^_0 = first [B, K, C] and m^_{t+1} = f(m^_t, tokens[t]), without a graph: [n+1, B, K, C] for
/// tokens i32 [n, B].
Tensor rollout(const Rnn& rnn, const Tensor& first, const Tensor& tokens);

class Dmt : public Method {
 public:
  /// Throws Error if the two models do not match.
  Dmt(Teacher& teacher, Rnn& rnn, const DmtConfig& config);

  std::vector<ParameterGroup> groups() override;
  LossTerms run(const Windows& batch, Piece piece, DrawKey draw) override;
  int64_t window_length() const override { return config_.T; }
  int64_t tokens_per_window() const override { return config_.Tc + config_.Td - 1; }
  double flop_per_step(int64_t batch) const override;

 private:
  Teacher& teacher_;
  Rnn& rnn_;
  DmtConfig config_;
};

}  // namespace loopless
