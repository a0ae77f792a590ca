/// The folder of a run:
///
///   config.json            its settings
///   metrics.jsonl          a line for each log line
///   checkpoints/           *.safetensors
///   samples/, figures/     made by tools
#pragma once

#include <string>

namespace loopless {

class RunDirectory {
 public:
  /// Creates the folder and checkpoints/. A run that is there is removed if `overwrite`: the
  /// files and folders named above, nothing else.
  /// Throws Error if it holds a run and `overwrite` is false, or cannot be created or written to.
  static RunDirectory create(const std::string& path, bool overwrite);

  const std::string& path() const { return path_; }
  std::string config() const { return path_ + "/config.json"; }
  std::string metrics() const { return path_ + "/metrics.jsonl"; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  std::string samples() const { return path_ + "/samples"; }
  std::string figures() const { return path_ + "/figures"; }

 private:
  explicit RunDirectory(const std::string& path);

  std::string path_;  // without a slash at its end
};

}  // namespace loopless
