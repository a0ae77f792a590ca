#include "train/smt.h"

#include "ops/cross_entropy/cross_entropy.h"
#include "ops/masked_mean/masked_mean.h"
#include "ops/mse/mse.h"
#include "ops/slice_tokens/slice_tokens.h"
#include "ops/uniformity/uniformity.h"
#include "ops/weighted_sum/weighted_sum.h"
#include "train/columns.h"
#include "train/flops.h"

namespace loopless {
namespace {

constexpr int64_t kUnifRows = 512;  // at most so many rows enter L_unif

/// The memories as rows of L_unif: tokens [B K, C], or whole memories [B, K C].
Tensor unif_view(const Tensor& memory, bool over_tokens) {
  const int64_t batch = memory.size(0), tokens = memory.size(1), width = memory.size(2);
  if (over_tokens) return reshape(memory, {batch * tokens, width});
  return reshape(memory, {batch, tokens * width});
}

}  // namespace

SmtBatch make_smt_batch(const Windows& windows, Piece rows, const SmtConfig& config,
                        const ModelConfig& model, DrawKey draw) {
  const int64_t Tc = config.Tc, Tf = config.Tf;
  CHECK(windows.x.size(1) >= Tc + Tf, "smt: windows of ", windows.x.size(1),
        " tokens are shorter than Tc + Tf = ", Tc + Tf);
  const Tensor x = windows.x.view_rows(rows.begin, rows.count);
  const Tensor y = windows.y.view_rows(rows.begin, rows.count);
  SmtBatch batch;
  batch.contexts = Tensor::empty({2 * rows.count, Tc}, kI32);
  copy_columns(x, 0, batch.contexts.view_rows(0, rows.count));
  copy_columns(x, 1, batch.contexts.view_rows(rows.count, rows.count));
  batch.has_padding = has_padding(batch.contexts);
  batch.next_token = columns(x, Tc, 1);
  CHECK(!has_padding(batch.next_token), "smt: the cell's input x[Tc] is padding (-1)");
  batch.future = without_padding(columns(x, Tc, Tf - 1));
  batch.targets = columns(y, Tc - 1, Tf);
  batch.first_targets = columns(y, Tc - 1, 1);
  batch.target_count = count_valid(columns(windows.y, Tc - 1, Tf));
  batch.first_count = count_valid(columns(windows.y, Tc - 1, 1));
  const int64_t unif = rows.count * (config.unif_over_tokens ? model.mem_tokens : 1);
  if (unif > kUnifRows) batch.unif_rows = draw_rows(unif, kUnifRows, draw);
  batch.share = static_cast<double>(rows.count) / static_cast<double>(windows.x.size(0));
  return batch;
}

SmtResult smt_loss(const Teacher& teacher, const Rnn& rnn, const SmtBatch& batch,
                   const SmtConfig& config) {
  const int64_t B = batch.targets.size(0);
  SmtResult r;
  const Tensor memories = teacher.encode(batch.contexts, batch.has_padding);
  r.memory = rows(memories, 0, B);
  r.next_memory = rows(memories, B, B);

  r.logits = teacher.decode(r.memory, batch.future);
  r.loss_dec_at = cross_entropy(r.logits, batch.targets);
  r.loss_dec = masked_mean(r.loss_dec_at, batch.targets,
                           {.gamma = config.gamma, .count = batch.target_count});

  const Tensor now = config.detach_rnn ? detach(r.memory) : r.memory;
  const Tensor next = config.detach_rnn ? detach(r.next_memory) : r.next_memory;
  r.predicted = rnn.step(now, batch.next_token);
  r.loss_dyn = weighted_sum({mse(r.predicted, next)}, {batch.share});

  std::vector<Tensor> terms = {r.loss_dec, r.loss_dyn};
  std::vector<double> coefficients = {config.coef_dec, config.coef_dyn};
  if (config.coef_unif > 0) {
    const Tensor spread = unif_view(r.memory, config.unif_over_tokens);
    r.loss_unif = weighted_sum({uniformity(spread, batch.unif_rows)}, {batch.share});
    terms.push_back(r.loss_unif);
    coefficients.push_back(config.coef_unif);
  }
  r.loss = weighted_sum(terms, coefficients);

  const NoGrad for_the_log_only;
  const Tensor at = detach(r.loss_dec_at).view({B, batch.targets.size(1), 1});
  const Tensor first = slice_tokens(at, 0, 1).view({B, 1});
  r.loss_dec0 = masked_mean(first, batch.first_targets, {.count = batch.first_count});
  return r;
}

Smt::Smt(Teacher& teacher, Rnn& rnn, const SmtConfig& config)
    : teacher_(teacher), rnn_(rnn), config_(config) {
  check_match(teacher.config(), rnn.config());
  check_same_decoder(teacher.config(), rnn.config());
}

std::vector<ParameterGroup> Smt::groups() {
  // The readout gets no gradient here: it is the teacher's decoder when weights are saved.
  const ParameterGroup cell{"rnn", rnn_.cell_parameters(), config_.hot_rnn};
  const ParameterGroup teacher{"teacher", teacher_.parameters(), config_.hot_teacher};
  const ParameterGroup readout{"rnn.readout", rnn_.readout_parameters(), false};
  if (config_.hot_rnn) return {cell, teacher, readout};
  return {teacher, cell, readout};
}

LossTerms Smt::run(const Windows& windows, Piece piece, DrawKey draw) {
  const SmtBatch batch = make_smt_batch(windows, piece, config_, rnn_.config(), draw);
  SmtConfig config = config_;
  // L_unif compares the rows of a piece with each other: a test loss must not depend on the pieces.
  if (!is_recording()) config.coef_unif = 0;
  const SmtResult r = smt_loss(teacher_, rnn_, batch, config);
  if (needs_grad({r.loss})) backward(r.loss);
  LossTerms terms = {{"loss", detach(r.loss)},
                     {"loss_dec", detach(r.loss_dec)},
                     {"loss_dec0", detach(r.loss_dec0)},
                     {"loss_dyn", detach(r.loss_dyn)}};
  if (r.loss_unif.defined()) terms.emplace_back("loss_unif", detach(r.loss_unif));
  return terms;
}

double Smt::flop_per_step(int64_t batch) const {
  return smt_flop(teacher_.config(), rnn_.config(), config_, batch);
}

void Smt::finish_weights() {
  copy_parameters(teacher_.decoder_parameters(), rnn_.decoder_parameters());
}

}  // namespace loopless
