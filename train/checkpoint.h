/// Checkpoints: one safetensors file, written to a temporary name, synced and renamed.
///
///   tensors    the weights of all models of a run, under the names of models/; and for each
///              parameter P that is trained Adam's moments, adam.m.P and adam.v.P
///   metadata   format, step, config (JSON), state (JSON: train/progress.h), checksum (CRC-32)
///
/// Weights and configuration are enough to evaluate, to generate and to start another run from;
/// moments and state are there in what a run saves, so that it can go on from there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/rnn.h"
#include "models/teacher.h"
#include "tensor/safetensors.h"
#include "train/checkpoint_files.h"
#include "train/config.h"
#include "train/progress.h"

namespace loopless {

/// Adam's moments of one parameter, in its shape.
struct Moments {
  std::string parameter;
  Tensor m, v;
};

/// What going on needs besides the weights.
struct TrainingState {
  Progress progress;
  std::vector<Moments> moments;  // of all parameters that are trained
};

struct Checkpoint {
  std::string path;    // the file that was read
  TrainConfig config;  // of the run that wrote it
  int64_t step = 0;    // steps done
  std::vector<std::pair<std::string, Tensor>> parameters;
  std::optional<TrainingState> training;
};

/// Throws Error if the file cannot be written; an earlier file of that name then stays as it was.
void write_checkpoint(const std::string& path, const TrainConfig& config, int64_t step,
                      const NamedParameters& parameters, const TrainingState* training = nullptr);

/// Reads a checkpoint file, or the newest one of a run directory.
/// Throws Error, naming the file, if there is none, it is not a whole checkpoint of loopless, or
/// it does not have the checksum that it states.
Checkpoint read_checkpoint(const std::string& path);

/// Throws Error if the file states a checksum that its contents do not have.
void check_checksum(const SafetensorsMap& file);

/// The models of a checkpoint, ready to use; `teacher` is null where the run had none (BPTT).
struct Models {
  std::unique_ptr<Teacher> teacher;
  std::unique_ptr<Rnn> rnn;
  TrainConfig config;
  int64_t step = 0;
};
Models load_models(const std::string& path);

/// Reads the parameters listed, and no others, from a checkpoint of loopless, or from a file of
/// weights under the reference implementation's names (models/reference_names.h). Returns the
/// file that `path` stood for (train/checkpoint_files.h) and, if it is of loopless, the
/// configuration of the run that wrote it; then `check` sees these before anything is loaded.
/// Throws Error, naming the file, if it cannot be read, is damaged, or lacks a parameter.
struct LoadedWeights {
  std::string path;
  std::optional<TrainConfig> config;
};
LoadedWeights load_weights(const NamedParameters& into, const std::string& path,
                           const std::function<void(const LoadedWeights&)>& check = {});

/// Loads what --load_rnn_path and --load_teacher_path name, and says where each is from.
/// Throws Error if one cannot be read, or is of a model with other settings.
std::vector<std::string> load_start(const TrainConfig& config, const NamedParameters& rnn,
                                    const NamedParameters& teacher = {});

}  // namespace loopless
