/// The parts of an inspection that know what a run is: a checkpoint's metadata, a run's folder.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tensor/safetensors.h"

namespace loopless {

/// For a checkpoint of loopless: {"kind": "checkpoint", "method", "step", "settings", "state"},
/// with "error" in place of what is broken; the rest, and that of any other file, as "metadata".
nlohmann::ordered_json inspect_metadata(const Metadata& metadata, const std::string& path);

/// The folder of a run, or one of checkpoints alone. Elements of checkpoints are not read.
/// Throws Error if it is neither.
nlohmann::ordered_json inspect_run(const std::string& path);

}  // namespace loopless
