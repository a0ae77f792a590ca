#pragma once

#include <vector>

#include "tensor/isa.h"
#include "tensor/tensor.h"

namespace loopless {

/// Where a run's updates are counted, each i32 [1]. They stay on the device: adamw reads `skip` and
/// `step`, the host looks at the others once the step is over.
struct StepCounters {
  Tensor skip;              // 1: this step's gradient is not to be applied
  Tensor step;              // updates applied: the number that AdamW corrects its moments by
  Tensor skipped;           // updates skipped, over the whole run
  Tensor skipped_in_a_row;  // and since the last one that was applied
};

/// step_guard(loss, norms, counters): whether a step's update is applied, decided on the device.
///
///   skip              = 0 if loss and all norms are finite numbers, 1 otherwise
///   step             += 1 - skip
///   skipped          += skip
///   skipped_in_a_row  = skip (skipped_in_a_row + 1)
///
/// Gradient none.
///
/// Shapes   loss [1], each norm [1], each counter [1]; no norms is legal.
/// Types    loss, norms: f32; counters: i32.
/// Saves    nothing.
/// Throws   Error if a shape or type differs, or there are more than kMostNorms norms.
/// Numerics exact.
/// Source   design of this runtime: a step that is not finite must leave no trace.
void step_guard(const Tensor& loss, const std::vector<Tensor>& norms, const StepCounters& counters);

inline constexpr int64_t kMostNorms = 8;

struct StepGuard {
  const float* loss;                    // [1]
  const float* norms[kMostNorms] = {};  // [norm_count], each [1]
  int64_t norm_count;
  int32_t* skip;              // [1]
  int32_t* step;              // [1]
  int32_t* skipped;           // [1]
  int32_t* skipped_in_a_row;  // [1]
};
CPU_KERNEL(step_guard_cpu, StepGuard);

}  // namespace loopless
