/// The training loop that SMT, DMT and BPTT share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/parameters.h"
#include "train/config.h"
#include "train/method.h"

namespace loopless {

struct TrainSummary {
  int64_t steps = 0;   // done, over all sittings
  double seconds = 0;  // of wall time, over all sittings
  int signal = 0;      // that ended the run before its time; 0: none

  /// 0, or 128 + signal.
  int exit_status() const { return signal == 0 ? 0 : 128 + signal; }
};

/// Gives a run that starts at step 0 its first weights (they are random before), and returns lines
/// that say where they are from. Throws Error if it cannot.
using StartWeights = std::function<std::vector<std::string>()>;

/// Trains `method` as `config` says: opens the data set, makes or resumes the run directory, steps,
/// logs, tests and saves. `saved` is what a checkpoint holds: all parameters of all models of the
/// run. With `dry_run` it says what the run would be, and changes nothing.
///
/// SIGINT and SIGTERM finish the step, save, and end the run early. A step whose loss or gradient
/// norm is not finite is skipped. What cannot be written on the way (a full disk) is said, and
/// tried again at the next save.
///
/// Throws Error for whatever makes the run impossible, before anything is overwritten; if 10 steps
/// in a row were skipped; and if the end of the run could not be saved.
TrainSummary train(const TrainConfig& config, Method& method, const NamedParameters& saved,
                   const StartWeights& start = {});

}  // namespace loopless
