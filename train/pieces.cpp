#include "train/pieces.h"

#include <algorithm>

#include "ops/weighted_sum/weighted_sum.h"

namespace loopless {

LossTerms run_pieces(Method& method, const Windows& windows, const OptimizerConfig& config,
                     DrawKey draw) {
  const int64_t rows = windows.x.size(0);
  const int64_t accum = config.grad_accum_steps;
  const int64_t most = (config.batch_size + accum - 1) / accum;
  const int64_t pieces = std::max<int64_t>(1, (rows + most - 1) / most);
  LossTerms sum;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t begin = i * rows / pieces;
    const LossTerms terms = method.run(windows, {begin, (i + 1) * rows / pieces - begin}, draw);
    if (i == 0) {
      sum = terms;
      continue;
    }
    // Into new tensors: two terms may share one.
    for (size_t n = 0; n < terms.size(); ++n) {
      sum[n].second = weighted_sum({sum[n].second, terms[n].second}, {1, 1});
    }
  }
  return sum;
}

}  // namespace loopless
