/// Where a run stands: all that its next step depends on besides weights, moments and settings.
/// (Random numbers and windows are functions of the seed and the step.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace loopless {

/// What the optimiser counts.
struct UpdateCounts {
  int64_t steps = 0;             // of the run
  int64_t updates = 0;           // applied
  int64_t skipped = 0;           // not applied, since the loss or a gradient norm was not finite
  int64_t skipped_in_a_row = 0;  // and since the last one that was applied
};

struct Progress {
  UpdateCounts counts;
  double seconds = 0;                    // of training so far, over all sittings
  std::optional<double> test_loss;       // at this step; none: not a finite number
  std::optional<double> best_test_loss;  // over all checkpoints so far
  int64_t best_step = -1;                // of the checkpoint that has it; -1: none yet
  std::string data;                      // fingerprint of the data set (train/data/fingerprint.h)
};

}  // namespace loopless
