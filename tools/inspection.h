/// What a file or a run directory holds, as JSON: what build/inspect prints, and prints as text.
///
///   npy           {"path", "kind": "npy", "bytes", "dtype", "shape", "elements", "tokens"?}
///   safetensors   {"path", "kind": "safetensors", "bytes", "tensors": [...], "groups": [...],
///                  "metadata"}
///   checkpoint    the same with "kind": "checkpoint", "method", "step", "moments", "settings",
///                  "state", and without the metadata that these are made of
///   run           {"path", "kind": "run", "config", "metrics", "checkpoints": [...]}
///
/// Sizes are bytes. "elements" is {count, nonfinite, mean, norm, rms, min, max} over the finite
/// ones. "settings" are those that are not their defaults. Whatever is broken inside a run has an
/// "error" in place of what it should hold.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace loopless {

/// A checkpoint, any .safetensors, an .npy, or the folder of a run.
/// Throws Error, naming the file, if it is none of these or broken.
nlohmann::ordered_json inspect(const std::string& path);

/// Whether something inside `inspection`, made by `inspect`, is broken.
bool has_error(const nlohmann::ordered_json& inspection);

/// For readers: aligned tables. `is_all`: each moment of Adam too, and each metric.
std::string inspection_text(const nlohmann::ordered_json& inspection, bool is_all);

}  // namespace loopless
