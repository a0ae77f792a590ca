#include "ops/step_guard/step_guard.h"

namespace loopless::LOOPLESS_ISA {

// Map      One thread: there are at most kMostNorms + 1 numbers to look at.
// Memory   A few bytes.
// Numerics exact.
// Needs    norm_count <= kMostNorms.
void step_guard_cpu(const StepGuard& args) {
  bool is_finite = __builtin_isfinite(*args.loss);
  for (int64_t i = 0; i < args.norm_count; ++i) {
    is_finite = is_finite && __builtin_isfinite(*args.norms[i]);
  }
  const int32_t skip = is_finite ? 0 : 1;
  *args.skip = skip;
  *args.step += 1 - skip;
  *args.skipped += skip;
  *args.skipped_in_a_row = skip * (*args.skipped_in_a_row + 1);
}

}  // namespace loopless::LOOPLESS_ISA
