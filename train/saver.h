/// What a run saves, and goes on from: its weights, moments and progress, in checkpoints of which
/// the newest and the best are kept.
#pragma once

#include <string>

#include "train/checkpoint.h"
#include "train/optimizer.h"
#include "train/run_directory.h"

namespace loopless {

class Saver {
 public:
  /// All must outlive the saver. `saved`: the parameters of all models of the run.
  Saver(const TrainConfig& config, RunDirectory& directory, const NamedParameters& saved,
        const FlatParameters& flat, const Optimizer& optimizer)
      : config_(config), directory_(directory), saved_(saved), flat_(flat), optimizer_(optimizer) {}

  /// Writes a checkpoint and returns its path. Then removes those that are neither among the
  /// newest `keep` nor the one with the best test loss. Folders that have vanished are made anew.
  /// Throws Error if it cannot be written; what was there before is then still there.
  std::string save(const Progress& progress);

  /// The weights and moments of a checkpoint become those of the run.
  /// Throws Error, naming the file, if a parameter or its moments are missing or of another shape.
  void restore(const Checkpoint& checkpoint) const;

 private:
  void remove_old(const Progress& progress) const;

  const TrainConfig& config_;
  RunDirectory& directory_;
  const NamedParameters& saved_;
  const FlatParameters& flat_;
  const Optimizer& optimizer_;
};

}  // namespace loopless
