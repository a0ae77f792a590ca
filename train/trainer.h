/// The training loop that SMT, DMT and BPTT share.
#pragma once

#include <cstdint>

#include "models/parameters.h"
#include "train/config.h"
#include "train/method.h"

namespace loopless {

struct TrainSummary {
  int64_t steps = 0;   // optimiser steps done
  double seconds = 0;  // of wall time, over the loop
};

/// Trains `method` as `config` says: opens the data set, makes the run directory, steps, logs,
/// tests and saves. `saved` is what a checkpoint holds: all parameters of all models of the run.
/// Throws Error for whatever makes the run impossible, before anything is overwritten, and if the
/// loss is no longer finite at a log line.
TrainSummary train(const TrainConfig& config, Method& method, const NamedParameters& saved);

}  // namespace loopless
