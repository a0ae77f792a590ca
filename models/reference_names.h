/// The reference implementation's parameter names: the one table that relates them to ours, so
/// that weights trained there can be used here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/parameters.h"

namespace loopless {

/// The reference's names for one of our parameters: several where ours is theirs stacked along the
/// leading dimension, in equal parts (to_q, to_k, to_v). Throws Error if there is none.
std::vector<std::string> reference_names(const std::string& ours);

/// The tensors of a reference state dict under our names, for the parameters listed.
/// Throws Error naming `source` and the first tensor that is missing or cannot be stacked.
std::vector<std::pair<std::string, Tensor>> from_reference(
    const NamedParameters& parameters, const std::vector<std::pair<std::string, Tensor>>& theirs,
    const std::string& source);

}  // namespace loopless
