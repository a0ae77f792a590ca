/// Checkpoints: one safetensors file with the weights of all models of a run, its configuration
/// and its step, written to a temporary name, synced and renamed.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/rnn.h"
#include "models/teacher.h"
#include "train/config.h"

namespace loopless {

struct Checkpoint {
  std::string path;    // the file that was read
  TrainConfig config;  // of the run that wrote it
  int64_t step = 0;    // optimiser steps done
  std::vector<std::pair<std::string, Tensor>> parameters;
};

/// "checkpoints/step_00001500.safetensors" inside a run directory.
std::string checkpoint_path(const std::string& run_directory, int64_t step);

/// Throws Error if the file cannot be written; an earlier file of that name then stays as it was.
void write_checkpoint(const std::string& path, const TrainConfig& config, int64_t step,
                      const NamedParameters& parameters);

/// Reads a checkpoint file, or the newest one of a run directory.
/// Throws Error, naming the file, if there is none or it is not a whole checkpoint of loopless.
Checkpoint read_checkpoint(const std::string& path);

/// The models of a checkpoint, ready to use; `teacher` is null where the run had none (BPTT).
struct Models {
  std::unique_ptr<Teacher> teacher;
  std::unique_ptr<Rnn> rnn;
  TrainConfig config;
  int64_t step = 0;
};
Models load_models(const std::string& path);

/// Reads the parameters listed, and no others, from a checkpoint of loopless, or from a file of
/// weights under the reference implementation's names (models/reference_names.h).
void load_weights(const NamedParameters& into, const std::string& path);

}  // namespace loopless
