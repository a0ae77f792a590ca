/// Cutting token windows into what a method reads. Host-side, on i32 tensors outside the graph.
#pragma once

#include "tensor/tensor.h"
#include "train/method.h"

namespace loopless {

/// Columns [first, first + count) of ids [B, T] -> [B, count].
Tensor columns(const Tensor& ids, int64_t first, int64_t count);
/// The same into an existing tensor, whose width is the count.
void copy_columns(const Tensor& ids, int64_t first, const Tensor& into);
/// Columns [first, first + count) of ids [B, T], one after the other: [count, B].
Tensor transposed_columns(const Tensor& ids, int64_t first, int64_t count);

/// Whether some id is -1.
bool has_padding(const Tensor& ids);
/// A copy in which -1 has become 0.
Tensor without_padding(const Tensor& ids);

/// `count` of the numbers 0 ... total-1, without repetition: i32 [count].
Tensor draw_rows(int64_t total, int64_t count, DrawKey draw);

}  // namespace loopless
