/// What DMT adds where the teacher is hot: its own losses, and labels that are no constants.
#pragma once

#include "train/dmt.h"

namespace loopless {

/// Fills the fields of `batch` that a hot teacher needs, once its contexts are there.
void add_future(const Windows& windows, Piece rows, const DmtConfig& config, DrawKey draw,
                DmtBatch& batch);

/// Recorded where recording is on.
struct TeacherTerms {
  Tensor labels;     // m_t at the label times: [n, B, K, C]
  Tensor loss_dec;   // f32 [1], this piece's share
  Tensor loss_unif;  // the same; undefined if coef_unif is 0 or nothing is recorded
};
TeacherTerms teacher_terms(const Teacher& teacher, const DmtBatch& batch, const DmtConfig& config);

}  // namespace loopless
