/// Everything a training run can be told. Names and defaults are the reference implementation's
/// where it has the setting; `train/flags.h` makes command lines of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "models/config.h"

namespace loopless {

enum class LrSchedule { kConstant, kWarmupConstant, kWarmupCosine };

struct RunConfig {
  uint64_t seed = 0;
  std::string dataset;
  int64_t n_iters = 150'000;          // optimiser steps
  int64_t log_every = 1'000;          // steps between log lines
  int64_t test_windows = 64;          // fixed windows of the test loss, taken at each log line
  std::optional<int64_t> ckpt_every;  // steps between checkpoints; none: only the last
  std::optional<int64_t> keep = 3;    // newest checkpoints kept, and the best; none: all
  double max_seconds = 0;             // wall time after which the run ends early; 0: none
  std::string save_dir;
  std::string resume = "never";  // auto, never, or a checkpoint (train/resume.h)
  std::optional<std::string> load_rnn_path;
  std::optional<std::string> load_teacher_path;
  int threads = 0;  // 0: all the processor has
  bool overwrite = false;
  bool dry_run = false;  // say what the run would be, and end

  std::string resume_command;  // what continues this run in a shell; no setting
};

struct OptimizerConfig {
  double lr = 3e-4;
  LrSchedule lr_schedule = LrSchedule::kWarmupConstant;
  double weight_decay = 0.01;
  std::array<double, 2> adam_betas = {0.9, 0.95};
  int64_t batch_size = 128;      // windows a step, over all accumulation pieces
  int64_t grad_accum_steps = 1;  // pieces a batch is computed in
  double clip_grad_norm = 1.0;
};

struct SmtConfig {
  int64_t T = 320;  // tokens of a window, at least Tc + Tf
  int64_t Tc = 256;
  int64_t Tf = 64;
  double gamma = 1.0;
  double coef_dec = 1.0;
  double coef_dyn = 0.1;
  double coef_unif = 0.001;
  bool unif_over_tokens = true;
  bool detach_rnn = false;
  bool hot_rnn = true;
  bool hot_teacher = true;
};

/// How far a DMT gradient reaches back: one step, or through the whole rollout.
enum class DmtGrad { kDetach, kFullBptt };

struct DmtConfig {
  int64_t T = 384;  // tokens of a window, at least Tc + Td - 1 and as the readout's targets need
  int64_t Td = 64;  // steps of the rollout
  int64_t Tc = 256;
  int64_t Tf = 64;  // of the decoder's loss, which only a hot teacher has
  int64_t k = 1;    // steps between encoder labels
  double coef_dec = 1.0;
  double coef_dyn = 10.0;
  double coef_unif = 0.01;
  double coef_readout = 1.0;
  bool detach_readout = true;
  DmtGrad grad = DmtGrad::kDetach;
  bool hot_rnn = true;
  bool hot_teacher_encoder = false;  // embedding, registers and encoder
  bool hot_teacher_decoder = false;
};

/// Whether DMT trains any of the teacher.
inline bool is_hot_teacher(const DmtConfig& dmt) {
  return dmt.hot_teacher_encoder || dmt.hot_teacher_decoder;
}

struct BpttConfig {
  int64_t T = 256;  // steps of the recurrence
  int64_t truncate =
      0;  // steps after which the gradient is cut and the memory carried on; 0: never
  int64_t recompute = 0;  // steps of a segment that is run again in backward; 0: keep everything
};

/// One run: what its binary needs. `method` is "smt", "dmt" or "bptt".
struct TrainConfig {
  std::string method;
  RunConfig run;
  OptimizerConfig optimizer;
  TeacherConfig teacher;
  RnnConfig rnn;
  SmtConfig smt;
  DmtConfig dmt;
  BpttConfig bptt;
};

/// The settings of a run of `method` ("smt", "dmt", "bptt") where nothing is said about them.
TrainConfig default_config(const std::string& method);

}  // namespace loopless
