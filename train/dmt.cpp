#include "train/dmt.h"

#include "ops/concat_rows/concat_rows.h"
#include "ops/linear/linear.h"
#include "ops/masked_mean/masked_mean.h"
#include "ops/mse/mse.h"
#include "ops/weighted_sum/weighted_sum.h"
#include "train/columns.h"
#include "train/dmt_teacher.h"
#include "train/flops.h"
#include "train/readout_loss.h"

namespace loopless {
namespace {

/// One time of a sequence of memories [n, B, K, C] -> [B, K, C].
Tensor at_time(const Tensor& memories, int64_t t) {
  return memories.view_rows(t, 1).view(memories.shape().tail());
}

/// Times [begin, end) of [n, B, K, C] as one batch [(end - begin) B, K, C].
Tensor flat_times(const Tensor& memories, int64_t begin, int64_t end) {
  const Shape& s = memories.shape();
  return memories.view_rows(begin, end - begin).view({(end - begin) * s[1], s[2], s[3]});
}

/// The recorded outcome of the rollout: memories at the label times after 0, [(n-1) B, K, C], and
/// the memories the readout reads, [Td B, K, C]. Undefined where it needs none.
struct Recorded {
  Tensor labelled;
  Tensor read;
};

/// Phase 2 of `grad` detach: one batched step over the pairs that carry loss. Those are the label
/// times; all times, when the readout's loss also reaches the cell. `first` is m_0 as it is read.
Recorded regress(const Rnn& rnn, const DmtBatch& batch, const Tensor& memories, const Tensor& first,
                 const DmtConfig& config) {
  const int64_t Td = memories.size(0), B = memories.size(1), K = memories.size(2);
  const int64_t stride = config.detach_readout ? config.k : 1;
  std::vector<Tensor> before, tokens;
  for (int64_t t = stride; t < Td; t += stride) {
    before.push_back(at_time(memories, t - 1));
    tokens.push_back(batch.tokens.view_rows(t - 1, 1).view({B, 1}));
  }
  Recorded r;
  if (before.empty()) return r;
  const Tensor after = rnn.step(concat_rows(before), concat_rows(tokens));
  if (config.detach_readout) {
    r.labelled = after;
    return r;
  }
  std::vector<Tensor> labelled;
  for (int64_t t = config.k; t < Td; t += config.k) labelled.push_back(rows(after, (t - 1) * B, B));
  if (!labelled.empty()) r.labelled = concat_rows(labelled);
  r.read = concat_rows({first, after});
  CHECK(r.read.size(0) == Td * B && r.read.size(1) == K, "dmt: readout memories ", r.read.shape());
  return r;
}

/// `grad` full_bptt: the rollout itself, recorded.
Recorded rollout_recorded(const Rnn& rnn, const DmtBatch& batch, const Tensor& first,
                          const DmtConfig& config) {
  const int64_t B = first.size(0);
  std::vector<Tensor> memories = {first}, labelled;
  for (int64_t t = 0; t < batch.tokens.size(0); ++t) {
    memories.push_back(rnn.step(memories.back(), batch.tokens.view_rows(t, 1).view({B, 1})));
    if ((t + 1) % config.k == 0) labelled.push_back(memories.back());
  }
  Recorded r;
  if (!labelled.empty()) r.labelled = concat_rows(labelled);
  r.read = concat_rows(memories);
  return r;
}

/// L_dyn of this piece. The mean over the label times counts t = 0, where both are the same.
Tensor dynamics_loss(const Recorded& recorded, const Tensor& labels, double share) {
  if (!recorded.labelled.defined()) return Tensor::zeros({1});
  const int64_t n = labels.size(0);
  const Tensor later = reshape(rows(labels, 1, n - 1), recorded.labelled.shape());
  const double counted = static_cast<double>(n - 1) / static_cast<double>(n);
  return weighted_sum({mse(recorded.labelled, later)}, {counted * share});
}

/// All terms that there are. What is already outside the graph adds its value alone.
Tensor total_loss(const DmtResult& r, const DmtConfig& config) {
  std::vector<Tensor> terms = {r.loss_dyn, r.loss_readout};
  std::vector<double> coefficients = {config.coef_dyn, config.coef_readout};
  if (r.loss_dec.defined()) terms.push_back(r.loss_dec), coefficients.push_back(config.coef_dec);
  if (r.loss_unif.defined()) terms.push_back(r.loss_unif), coefficients.push_back(config.coef_unif);
  return weighted_sum(terms, coefficients);
}

}  // namespace

DmtBatch make_dmt_batch(const Windows& windows, Piece rows, const DmtConfig& config, DrawKey draw) {
  const int64_t Tc = config.Tc, Td = config.Td, B = rows.count;
  CHECK(windows.x.size(1) >= Tc + Td - 1, "dmt: windows of ", windows.x.size(1),
        " tokens are shorter than Tc + Td - 1 = ", Tc + Td - 1);
  const Tensor x = windows.x.view_rows(rows.begin, B);
  const Tensor y = windows.y.view_rows(rows.begin, B);
  const int64_t labels = (Td + config.k - 1) / config.k;
  DmtBatch batch;
  batch.contexts = Tensor::empty({labels, B, Tc}, kI32);
  for (int64_t i = 0; i < labels; ++i) {
    copy_columns(x, i * config.k, batch.contexts.view_rows(i, 1).view({B, Tc}));
  }
  batch.has_padding = has_padding(batch.contexts);
  batch.tokens = transposed_columns(x, Tc, Td - 1);
  CHECK(!has_padding(batch.tokens), "dmt: an input of the cell, x[Tc ...], is padding (-1)");
  batch.targets = transposed_columns(y, Tc - 1, Td);
  batch.target_count = count_valid(columns(windows.y, Tc - 1, Td));
  batch.share = static_cast<double>(B) / static_cast<double>(windows.x.size(0));
  if (is_hot_teacher(config)) add_future(windows, rows, config, draw, batch);
  return batch;
}

Tensor encode_labels(const Teacher& teacher, const Tensor& contexts, bool has_padding) {
  const NoGrad the_teacher_is_frozen;
  const int64_t n = contexts.size(0), B = contexts.size(1), Tc = contexts.size(2);
  const TeacherConfig& config = teacher.config();
  const Tensor labels = Tensor::empty({n, B, config.mem_tokens, config.d_model});
  // One time after the other: nothing is saved, and activations of a small batch stay in the
  // cache.
  for (int64_t i = 0; i < n; ++i) {
    const Tensor context = contexts.view_rows(i, 1).view({B, Tc});
    at_time(labels, i).copy_from(teacher.encode(context, has_padding));
  }
  return labels;
}

Tensor rollout(const Rnn& rnn, const Tensor& first, const Tensor& tokens) {
  const NoGrad no_graph;
  const KeepWeightsPacked same_weights_every_step;
  const int64_t n = tokens.size(0), B = first.size(0);
  const Tensor memories = Tensor::empty({n + 1, B, first.size(1), first.size(2)});
  at_time(memories, 0).copy_from(first);
  for (int64_t t = 0; t < n; ++t) {
    const Tensor next = rnn.step(at_time(memories, t), tokens.view_rows(t, 1).view({B, 1}));
    at_time(memories, t + 1).copy_from(next);
  }
  return memories;
}

DmtResult dmt_step(const Teacher& teacher, const Rnn& rnn, const DmtBatch& batch,
                   const DmtConfig& config) {
  const int64_t Td = batch.targets.size(0), B = batch.targets.size(1);
  TeacherTerms own;
  if (is_hot_teacher(config)) {
    own = teacher_terms(teacher, batch, config);
  } else {
    own.labels = encode_labels(teacher, batch.contexts, batch.has_padding);
  }
  DmtResult r;
  r.labels = detach(own.labels);
  const Shape one_time = r.labels.shape().tail();
  const Tensor first = reshape(rows(own.labels, 0, 1), one_time);
  Recorded recorded;
  if (config.grad == DmtGrad::kFullBptt) {
    recorded = rollout_recorded(rnn, batch, first, config);
    r.memories = detach(recorded.read).view({Td, B, one_time[1], one_time[2]});
  } else {
    r.memories = rollout(rnn, at_time(r.labels, 0), batch.tokens);
    recorded = regress(rnn, batch, r.memories, first, config);
  }
  r.loss_dyn = dynamics_loss(recorded, own.labels, batch.share);
  ReadoutInput input{flat_times(r.memories, 0, Td), batch.targets.view({Td * B}),
                     batch.target_count};
  if (config.detach_readout) {
    r.loss_readout = readout_loss_and_gradient(rnn, input, config.coef_readout);
  } else {
    input.memories = recorded.read.defined() ? recorded.read : first;
    r.loss_readout = readout_loss(rnn, input).loss;
  }
  r.loss_dec = own.loss_dec;
  r.loss_unif = own.loss_unif;
  r.loss = total_loss(r, config);
  if (needs_grad({r.loss})) backward(r.loss);
  for (Tensor* loss : {&r.loss, &r.loss_dyn, &r.loss_readout, &r.loss_dec, &r.loss_unif}) {
    if (loss->defined()) *loss = detach(*loss);
  }
  return r;
}

Dmt::Dmt(Teacher& teacher, Rnn& rnn, const DmtConfig& config)
    : teacher_(teacher), rnn_(rnn), config_(config) {
  check_match(teacher.config(), rnn.config());
}

std::vector<ParameterGroup> Dmt::groups() {
  ParameterGroup hot{"teacher", {}, true}, frozen{"teacher.frozen", {}, false};
  for (const NamedParameter& parameter : teacher_.parameters()) {
    const bool is_decoder = parameter.name.starts_with("teacher.decoder.");
    const bool is_hot = is_decoder ? config_.hot_teacher_decoder : config_.hot_teacher_encoder;
    (is_hot ? hot : frozen).parameters.push_back(parameter);
  }
  std::vector<ParameterGroup> groups = {{"rnn", rnn_.parameters(), config_.hot_rnn}};
  for (const ParameterGroup& group : {hot, frozen}) {
    if (!group.parameters.empty()) groups.push_back(group);
  }
  return groups;
}

LossTerms Dmt::run(const Windows& windows, Piece piece, DrawKey draw) {
  const DmtResult r =
      dmt_step(teacher_, rnn_, make_dmt_batch(windows, piece, config_, draw), config_);
  LossTerms terms = {{"loss", r.loss}, {"loss_readout", r.loss_readout}, {"loss_dyn", r.loss_dyn}};
  if (r.loss_dec.defined()) terms.emplace_back("loss_dec", r.loss_dec);
  if (r.loss_unif.defined()) terms.emplace_back("loss_unif", r.loss_unif);
  return terms;
}

double Dmt::flop_per_step(int64_t batch) const {
  return dmt_flop(teacher_.config(), rnn_.config(), config_, batch);
}

}  // namespace loopless
