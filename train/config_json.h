/// A run's configuration as JSON: config.json, and the metadata of its checkpoints.
///
///   {"method": "smt", "run": {...}, "optimizer": {...}, "rnn": {...}, "smt": {...}, ...}
///
/// Keys are the fields of train/config.h that the method has; None is null.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "train/config.h"

namespace loopless {

nlohmann::json to_json(const TrainConfig& config);
/// A key that is missing keeps its default, so that a file of an earlier version is read; what is
/// there must be known, with a value that its flag would take.
/// Throws Error "`where`: ..." naming the key; `where` is the file that the JSON is from.
TrainConfig from_json(const nlohmann::json& json, const std::string& where = "config.json");

/// Writes config.json, atomically.
void write_config(const std::string& path, const TrainConfig& config);
/// Throws Error, naming the file, if it is missing, no JSON, or no configuration.
TrainConfig read_config(const std::string& path);

}  // namespace loopless
