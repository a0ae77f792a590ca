/// Where a run goes on: what --resume auto|never|PATH means.
///
///   never   from the start, in a folder that holds no run
///   auto    from the newest whole checkpoint of save_dir; from the start if it has none yet
///   PATH    from that checkpoint: an earlier one of save_dir if the later ones are gone, or one of
///           another run, whose first part then becomes the first part of this one
///
/// Weights, moments and counters are those of the checkpoint, and metrics.jsonl is cut back to its
/// step, so that a run that was interrupted ends with the bytes of one that was not (on one machine
/// with one number of threads; times and rates aside). The settings must be those of the
/// checkpoint, but for n_iters, max_seconds, log_every, ckpt_every, keep, threads and paths;
/// the data set must hold the same tokens, wherever it is. (Schedules with a warm-up are laid out
/// over n_iters: another number is another schedule.)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/checkpoint.h"
#include "train/run_directory.h"

namespace loopless {

struct Resumption {
  std::optional<Checkpoint> from;  // none: the run starts at step 0
  bool is_same_run = false;        // save_dir already holds the run that goes on
  std::vector<std::string> notes;  // for the user: what was taken, what was skipped and why
};

/// Changes nothing.
/// Throws Error if the checkpoint asked for cannot be gone on from: it is not whole, holds no
/// training state, its settings (each that differs is named) or data are others, or save_dir holds
/// checkpoints that are newer.
Resumption find_resumption(const TrainConfig& config, const RunDirectory& directory,
                           const std::string& data_fingerprint);

/// "--lr: is 0.001, was 0.0003; ..." for all settings that must not change on resuming; "" if
/// there is none.
std::string differences(const TrainConfig& now, const TrainConfig& then);

/// Copies the lines of the run that `checkpoint` is from, if it is another one than save_dir's.
void copy_history(const Checkpoint& checkpoint, const RunDirectory& directory);

}  // namespace loopless
