/// The learning rate as a function of the step.
#pragma once

#include <cstdint>

#include "train/config.h"

namespace loopless {

/// lr at step s, counted from 0, of n_iters. With w = n_iters / 100 steps of warm-up (rounded
/// down):
///
///   constant         lr
///   warmup_constant  lr s / w while s < w (the first step's is 0), then lr
///   warmup_cosine    the same warm-up, then lr (1 + cos(pi (s - w) / (n_iters - w))) / 2
///
/// Source: the learning rates of tests/golden/train_smt and train_dmt, which are the reference
/// implementation's.
double learning_rate(const OptimizerConfig& config, int64_t step, int64_t n_iters);

}  // namespace loopless
