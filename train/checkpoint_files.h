/// Where checkpoints are: their names in a run's folder, and the files that a path stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace loopless {

struct CheckpointFile {
  std::string path;
  int64_t step = 0;  // as its name says
};

/// "checkpoints/step_00001500.safetensors" inside a run directory.
std::string checkpoint_path(const std::string& run_directory, int64_t step);

/// The checkpoints of a run directory (or of its checkpoints folder), oldest first. Files that are
/// named otherwise are not looked at.
std::vector<CheckpointFile> list_checkpoints(const std::string& folder);

/// The checkpoint that a path stands for: a file itself, or the newest one of a folder.
/// Throws Error if the folder holds none.
std::string checkpoint_file(const std::string& path);

/// The same for weights to start from, where `path` may also be a name that the reference
/// implementation gives its weights, such as "runs/smt/rnn.pkl": that stands for the file
/// rnn.safetensors beside it, or else for the newest checkpoint of the run directory that it would
/// be in.
/// Throws Error if there is neither, and says how to convert a pickle that is there.
std::string weights_file(const std::string& path);

}  // namespace loopless
