/// Windows of a split: T inputs and the T tokens that come next.
///
/// Which windows a step sees is a function of (seed, step, row of the global batch) alone, so a
/// resumed run needs no saved state, and a batch may be made in pieces or by several ranks.
#pragma once

#include <cstdint>

#include "train/data/dataset.h"
#include "train/data/windows.h"

namespace loopless {

/// Rows [first_row, first_row + batch) of the batch of `step`. Each window starts anywhere in the
/// split with the same probability, independently of the others.
/// Throws Error, naming the file, if the split is shorter than T + 1 tokens.
Windows sample_windows(const Tokens& tokens, int64_t T, int64_t batch, uint64_t seed, int64_t step,
                       int64_t first_row = 0);

/// `count` windows spread evenly over the split, always the same; as many as there are different
/// ones if that is fewer. Throws Error as `sample_windows` does.
Windows fixed_windows(const Tokens& tokens, int64_t T, int64_t count);

}  // namespace loopless
