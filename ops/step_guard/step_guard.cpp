#include "ops/step_guard/step_guard.h"

namespace loopless {

void step_guard(const Tensor& loss, const std::vector<Tensor>& norms,
                const StepCounters& counters) {
  check_tensor("step_guard", "loss", loss, {1});
  CHECK(static_cast<int64_t>(norms.size()) <= kMostNorms, "step_guard: at most ", kMostNorms,
        " norms, got ", norms.size());
  StepGuard args;
  args.loss = loss.data();
  args.norm_count = static_cast<int64_t>(norms.size());
  for (size_t i = 0; i < norms.size(); ++i) {
    check_tensor("step_guard", "norm", norms[i], {1});
    args.norms[i] = norms[i].data();
  }
  check_tensor("step_guard", "skip", counters.skip, {1}, kI32);
  check_tensor("step_guard", "step", counters.step, {1}, kI32);
  check_tensor("step_guard", "skipped", counters.skipped, {1}, kI32);
  check_tensor("step_guard", "skipped_in_a_row", counters.skipped_in_a_row, {1}, kI32);
  args.skip = counters.skip.data<int32_t>();
  args.step = counters.step.data<int32_t>();
  args.skipped = counters.skipped.data<int32_t>();
  args.skipped_in_a_row = counters.skipped_in_a_row.data<int32_t>();
  step_guard_cpu(args);
}

}  // namespace loopless
