#include "train/bptt.h"

#include <algorithm>

#include "ops/concat_rows/concat_rows.h"
#include "ops/linear/linear.h"
#include "ops/masked_mean/masked_mean.h"
#include "train/columns.h"
#include "train/flops.h"
#include "train/readout_loss.h"

namespace loopless {
namespace {

/// f applied to tokens [n, B] one after the other, from `memory` [B, K, C]: all n memories,
/// [n B, K, C].
Tensor steps(const Rnn& rnn, Tensor memory, const Tensor& tokens) {
  const int64_t B = tokens.size(1);
  std::vector<Tensor> memories;
  for (int64_t t = 0; t < tokens.size(0); ++t) {
    memory = rnn.step(memory, tokens.view_rows(t, 1).view({B, 1}));
    memories.push_back(memory);
  }
  return concat_rows(memories);
}

/// Steps until something happens to the graph: a cut, or the end of a recomputed segment.
int64_t segment_length(const BpttConfig& config, int64_t T) {
  int64_t length = T;
  if (config.truncate > 0) length = std::min(length, config.truncate);
  if (config.recompute > 0) length = std::min(length, config.recompute);
  return length;
}

/// All memories m_1 ... m_T [T B, K, C], recorded.
Tensor unroll(const Rnn& rnn, const Tensor& tokens, const BpttConfig& config) {
  const int64_t T = tokens.size(0), B = tokens.size(1);
  Tensor memory = rnn.empty_memory(B);
  std::vector<Tensor> segments;
  for (int64_t t = 0; t < T;) {
    const bool is_cut = config.truncate > 0 && t % config.truncate == 0;
    if (is_cut) memory = detach(memory);
    int64_t length = std::min(segment_length(config, T), T - t);
    if (config.truncate > 0) length = std::min(length, config.truncate - t % config.truncate);
    const Tensor part = tokens.view_rows(t, length);
    const auto run = [&rnn, part](const std::vector<Tensor>& in) {
      return steps(rnn, in[0], part);
    };
    const Tensor segment = config.recompute > 0 ? recompute(run, {memory}) : run({memory});
    memory = rows(segment, (length - 1) * B, B);
    segments.push_back(segment);
    t += length;
  }
  return segments.size() == 1 ? segments[0] : concat_rows(segments);
}

}  // namespace

BpttBatch make_bptt_batch(const Windows& windows, Piece rows, const BpttConfig& config) {
  CHECK(windows.x.size(1) >= config.T, "bptt: windows of ", windows.x.size(1),
        " tokens are shorter than T = ", config.T);
  BpttBatch batch;
  batch.tokens = transposed_columns(windows.x.view_rows(rows.begin, rows.count), 0, config.T);
  CHECK(!has_padding(batch.tokens), "bptt: an input of the cell is padding (-1)");
  batch.targets = transposed_columns(windows.y.view_rows(rows.begin, rows.count), 0, config.T);
  batch.target_count = count_valid(columns(windows.y, 0, config.T));
  return batch;
}

BpttResult bptt_step(const Rnn& rnn, const BpttBatch& batch, const BpttConfig& config) {
  const int64_t count = batch.targets.numel();
  const KeepWeightsPacked same_weights_every_step;
  const Tensor memories = unroll(rnn, batch.tokens, config);
  // The readout goes backward first, chunk by chunk, and leaves dL/dm_t of all t; then the
  // unrolled cell goes backward once.
  const bool is_recorded = needs_grad({memories});
  const Tensor read = is_recorded ? leaf(memories) : memories;
  BpttResult r;
  r.loss =
      readout_loss_and_gradient(rnn, {read, batch.targets.view({count}), batch.target_count}, 1);
  if (is_recorded) backward_from(memories, grad_of(read));
  r.memories = detach(memories);
  return r;
}

std::vector<ParameterGroup> Bptt::groups() { return {{"rnn", rnn_.parameters(), true}}; }

LossTerms Bptt::run(const Windows& windows, Piece piece, DrawKey) {
  const BpttResult r = bptt_step(rnn_, make_bptt_batch(windows, piece, config_), config_);
  return {{"loss", r.loss}, {"loss_readout", r.loss}};
}

double Bptt::flop_per_step(int64_t batch) const { return bptt_flop(rnn_.config(), config_, batch); }

}  // namespace loopless
