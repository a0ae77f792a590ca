/// The folder of a run:
///
///   config.json            its settings
///   metrics.jsonl          a line for each log line
///   checkpoints/           step_*.safetensors
///   samples/, figures/     made by tools
///   lock                   while a process trains in it
#pragma once

#include <memory>
#include <string>

#include "train/run_lock.h"

namespace loopless {

class RunDirectory {
 public:
  /// Changes nothing but the lock: a folder that is there is locked as long as this object lives.
  /// Throws Error if a file has its name, it cannot be written to, or another process has it.
  explicit RunDirectory(const std::string& path);

  /// Whether any of the files and folders named above holds something.
  bool holds_run() const;
  /// Whether that run ever began: it has its settings.
  bool has_config() const;

  /// For a new run: an empty folder with checkpoints/. A run that is there is removed if
  /// `overwrite`: the files and folders named above, nothing else.
  /// Throws Error if it holds a run and `overwrite` is false, or cannot be created or written to.
  void create(bool overwrite);
  /// For a run that goes on: makes the folders that are missing. Throws Error if it
  /// cannot, or if the folder was removed meanwhile and another process has made it anew.
  void ensure();
  /// Removes what a process that was killed while it wrote has left in checkpoints/.
  void remove_unfinished() const;

  const std::string& path() const { return path_; }
  std::string config() const { return path_ + "/config.json"; }
  std::string metrics() const { return path_ + "/metrics.jsonl"; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  std::string samples() const { return path_ + "/samples"; }
  std::string figures() const { return path_ + "/figures"; }

 private:
  std::string path_;  // without a slash at its end
  std::unique_ptr<RunLock> lock_;
};

}  // namespace loopless
