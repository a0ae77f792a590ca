/// Supervised memory training (paper, section 3): every part of the loss is one parallel forward.
///
///   m_t     = encoder(x[0 : Tc]),   m_{t+1} = encoder(x[1 : Tc+1])        both in one pass of 2B
///   L_dec   = sum_valid gamma^j CE(decoder(m_t, x[Tc : Tc+Tf])_j, y[Tc-1+j]) / number of valid
///   L_dyn   = mean (f(m_t, x[Tc]) - m_{t+1})^2
///   L_unif  = log mean_{i != j} exp(-2 |u_i - u_j|^2),   u = memory tokens (or memories), |u| = 1
///   loss    = coef_dec L_dec + coef_dyn L_dyn + coef_unif L_unif
///
/// L_unif is not computed where coef_unif is 0. With `detach_rnn` L_dyn trains the cell alone: both
/// memories are taken as given.
#pragma once

#include "models/rnn.h"
#include "models/teacher.h"
#include "train/config.h"
#include "train/method.h"

namespace loopless {

/// What one piece of a batch is computed from.
struct SmtBatch {
  Tensor contexts;           // i32 [2B, Tc]: x[0 : Tc] of all rows, then x[1 : Tc+1] of all rows
  bool has_padding = false;  // some context token is -1
  Tensor next_token;         // i32 [B, 1]: x[Tc]
  Tensor future;             // i32 [B, Tf-1]: x[Tc : Tc+Tf-1], padding as token 0
  Tensor targets;            // i32 [B, Tf]: y[Tc-1 : Tc-1+Tf]
  Tensor first_targets;      // i32 [B, 1]: y[Tc-1]
  Tensor target_count;       // f32 [1]: valid targets of the whole batch
  Tensor first_count;        // f32 [1]: valid first targets of the whole batch
  Tensor unif_rows;          // i32 [at most 512]: rows of L_unif; undefined: all
  double share = 1;          // of the whole batch's rows
};

/// Cuts piece `rows` of `windows`, drawing the rows of L_unif from `draw`. Throws Error if the
/// windows are shorter than Tc + Tf or a token that the cell reads is padding.
SmtBatch make_smt_batch(const Windows& windows, Piece rows, const SmtConfig& config,
                        const ModelConfig& model, DrawKey draw);

/// Every intermediate result that a reader of the equations would ask for.
struct SmtResult {
  Tensor loss, loss_dec, loss_dec0, loss_dyn;  // f32 [1], this piece's share
  Tensor loss_unif;                            // the same; undefined: coef_unif is 0
  Tensor loss_dec_at;                          // [B, Tf]: CE by position
  Tensor logits;                               // [B, Tf, V]
  Tensor memory, next_memory, predicted;       // m_t, m_{t+1}, f(m_t, x[Tc]): [B, K, C]
};
SmtResult smt_loss(const Teacher& teacher, const Rnn& rnn, const SmtBatch& batch,
                   const SmtConfig& config);

class Smt : public Method {
 public:
  /// Throws Error if the two models do not match, or the readout is no copy of the decoder.
  Smt(Teacher& teacher, Rnn& rnn, const SmtConfig& config);

  std::vector<ParameterGroup> groups() override;
  LossTerms run(const Windows& batch, Piece piece, DrawKey draw) override;
  int64_t window_length() const override { return config_.T; }
  int64_t tokens_per_window() const override { return config_.Tc + config_.Tf; }
  double flop_per_step(int64_t batch) const override;
  /// The teacher's decoder becomes the RNN's readout.
  void finish_weights() override;

 private:
  Teacher& teacher_;
  Rnn& rnn_;
  SmtConfig config_;
};

}  // namespace loopless
