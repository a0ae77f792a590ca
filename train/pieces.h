/// A batch in pieces that fit in memory.
#pragma once

#include "train/config.h"
#include "train/method.h"

namespace loopless {

/// The loss terms of all `windows`, computed in pieces of about batch_size / grad_accum_steps
/// rows. Where recording is on, also adds their gradient to the parameters.
LossTerms run_pieces(Method& method, const Windows& windows, const OptimizerConfig& config,
                     DrawKey draw);

}  // namespace loopless
