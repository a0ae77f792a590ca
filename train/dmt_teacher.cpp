#include "train/dmt_teacher.h"

#include "ops/cross_entropy/cross_entropy.h"
#include "ops/masked_mean/masked_mean.h"
#include "ops/uniformity/uniformity.h"
#include "ops/weighted_sum/weighted_sum.h"
#include "train/columns.h"

namespace loopless {
namespace {

constexpr int64_t kUnifRows = 512;  // at most so many rows enter L_unif

}  // namespace

void add_future(const Windows& windows, Piece rows, const DmtConfig& config, DrawKey draw,
                DmtBatch& batch) {
  const int64_t labels = batch.contexts.size(0), B = rows.count, all_rows = windows.y.size(0);
  const int64_t needed = config.Tc + (labels - 1) * config.k + config.Tf - 1;
  CHECK(windows.x.size(1) >= needed, "dmt: windows of ", windows.x.size(1),
        " tokens are shorter than Tc + Tf - 1 + the last label time = ", needed);
  const Tensor x = windows.x.view_rows(rows.begin, B), y = windows.y.view_rows(rows.begin, B);
  const Tensor future = Tensor::empty({labels * B, config.Tf - 1}, kI32);
  const Tensor all_targets = Tensor::empty({labels * all_rows, config.Tf}, kI32);
  batch.future_targets = Tensor::empty({labels * B, config.Tf}, kI32);
  for (int64_t i = 0; i < labels; ++i) {
    const int64_t end = i * config.k + config.Tc;  // of the context
    copy_columns(x, end, future.view_rows(i * B, B));
    copy_columns(y, end - 1, batch.future_targets.view_rows(i * B, B));
    copy_columns(windows.y, end - 1, all_targets.view_rows(i * all_rows, all_rows));
  }
  batch.future = without_padding(future);
  batch.future_count = count_valid(all_targets);
  if (labels * B > kUnifRows) batch.unif_rows = draw_rows(labels * B, kUnifRows, draw);
}

TeacherTerms teacher_terms(const Teacher& teacher, const DmtBatch& batch, const DmtConfig& config) {
  const int64_t n = batch.contexts.size(0), B = batch.contexts.size(1);
  const int64_t K = teacher.config().mem_tokens, C = teacher.config().d_model;
  TeacherTerms terms;
  const Tensor memory = teacher.encode(batch.contexts.view({n * B, config.Tc}), batch.has_padding);
  const Tensor loss_at = cross_entropy(teacher.decode(memory, batch.future), batch.future_targets);
  terms.loss_dec = masked_mean(loss_at, batch.future_targets, {.count = batch.future_count});
  if (is_recording() && config.coef_unif > 0) {
    const Tensor whole = reshape(memory, {n * B, K * C});
    terms.loss_unif = weighted_sum({uniformity(whole, batch.unif_rows)}, {batch.share});
  }
  terms.labels = reshape(memory, {n, B, K, C});
  return terms;
}

}  // namespace loopless
