/// What a run would be, without running it.
#pragma once

#include <string>
#include <vector>

#include "models/parameters.h"
#include "train/config.h"
#include "train/method.h"

namespace loopless {

/// Prints data, model, parameters, memory and FLOP of a step, and the time that a step and the run
/// would take. Memory and time are estimated from training steps of two windows and of a few, made
/// here and forgotten. Writes no file.
/// Throws Error where the run would for its data and sizes; does not look at save_dir.
void dry_run(const TrainConfig& config, Method& method, const NamedParameters& saved);

}  // namespace loopless
