/// What to tell a user when a step is not finite.
#pragma once

#include <string>

#include "models/parameters.h"

namespace loopless {

/// The first parameter with a value that is not finite, in words; "" if there is none.
std::string what_weight_is_not_finite(const FlatParameters& parameters);

/// The first culprit, in words: a weight, a gradient (by the parameter's name), or else the loss.
/// "" if all are finite. To be asked before the gradients of the step are zeroed.
std::string what_is_not_finite(const FlatParameters& parameters, double loss);

}  // namespace loopless
