/// A whole training run that takes no time.
#pragma once

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/files.h"
#include "tests/support/tiny_models.h"
#include "train/bptt.h"
#include "train/dmt.h"
#include "train/smt.h"
#include "train/trainer.h"

namespace loopless::testing {

inline const char* const kMethods[] = {"smt", "dmt", "bptt"};

/// A method with a hook that is called before each training step (not before tests of the loss).
class HookedMethod : public Method {
 public:
  using Hook = std::function<void(int64_t step)>;
  HookedMethod(Method& method, Hook hook) : method_(method), hook_(std::move(hook)) {}

  std::vector<ParameterGroup> groups() override { return method_.groups(); }
  LossTerms run(const Windows& batch, Piece piece, DrawKey draw) override {
    LossTerms terms = method_.run(batch, piece, draw);
    if (is_recording()) hook_(draw.step);
    return terms;
  }
  int64_t window_length() const override { return method_.window_length(); }
  int64_t tokens_per_window() const override { return method_.tokens_per_window(); }
  double flop_per_step(int64_t batch) const override { return method_.flop_per_step(batch); }
  void finish_weights() override { method_.finish_weights(); }

 private:
  Method& method_;
  Hook hook_;
};

/// The lines of a run's metrics.jsonl.
inline std::vector<nlohmann::json> log_of(const std::string& run) {
  std::istringstream lines(read_bytes(run + "/metrics.jsonl"));
  std::vector<nlohmann::json> log;
  for (std::string line; std::getline(lines, line);) log.push_back(nlohmann::json::parse(line));
  return log;
}

/// The same without what depends on the clock and the machine.
inline std::vector<nlohmann::json> numbers_of(const std::string& run) {
  std::vector<nlohmann::json> lines = log_of(run);
  for (nlohmann::json& line : lines) {
    for (const char* key : {"step_ms", "tokens_per_s", "matmul_share", "seconds", "memory_mib",
                            "system_allocations"}) {
      line.erase(key);
    }
  }
  return lines;
}

/// What the last checkpoint of a run (or a checkpoint file) holds: step, weights and moments.
inline std::string training_bytes_of(const std::string& path) {
  const Checkpoint checkpoint = read_checkpoint(path);
  std::string bytes = std::to_string(checkpoint.step);
  const auto add = [&](const Tensor& x) {
    bytes.append(reinterpret_cast<const char*>(x.data()), x.bytes());
  };
  for (const auto& [name, x] : checkpoint.parameters) add(x);
  for (const Moments& moments : checkpoint.training->moments) add(moments.m), add(moments.v);
  return bytes;
}

inline constexpr int64_t kTinyBatch = 8;

/// A small run of `method` on a text in `folder`, saved in folder/NAME.
class TinyRun {
 public:
  TinyRun(const TemporaryFolder& folder, const std::string& method, const std::string& name)
      : config_(default_config(method)) {
    std::string text;
    while (text.size() < 4000) text += "the quick brown fox " + std::to_string(text.size()) + "\n";
    write_bytes(folder / "text.txt", text);
    config_.run.dataset = "text:" + (folder / "text.txt");
    config_.run.save_dir = folder / name;
    config_.run.n_iters = 6;
    config_.run.log_every = 3;
    config_.run.test_windows = kTinyBatch;
    config_.optimizer.batch_size = kTinyBatch;
    config_.optimizer.lr = 1e-3;
    config_.smt = {.T = 16, .Tc = 12, .Tf = 4};
    config_.dmt = {.T = 20, .Td = 8, .Tc = 12, .Tf = 4, .k = 4};
    config_.bptt = {.T = 10};
    set_tiny_sizes(config_);
  }

  TrainConfig& config() { return config_; }

  /// What a hook sees: it is called within each step, once the gradients are there.
  struct Inside {
    int64_t step;
    NamedParameters parameters;  // of all models, with their gradients
  };
  TrainSummary train(const std::function<void(const Inside&)>& hook = {}) const {
    Teacher teacher(config_.teacher, config_.run.seed);
    Rnn rnn(config_.rnn, config_.run.seed);
    NamedParameters saved = rnn.parameters();
    std::unique_ptr<Method> method;
    if (config_.method == "bptt") {
      method = std::make_unique<Bptt>(rnn, config_.bptt);
    } else {
      saved = joined(rnn.parameters(), teacher.parameters());
      if (config_.method == "smt") method = std::make_unique<Smt>(teacher, rnn, config_.smt);
      if (config_.method == "dmt") method = std::make_unique<Dmt>(teacher, rnn, config_.dmt);
    }
    HookedMethod hooked(*method, [&](int64_t step) {
      if (hook) hook({step, saved});
    });
    return loopless::train(config_, hooked, saved);
  }

  std::vector<nlohmann::json> log() const { return log_of(config_.run.save_dir); }
  std::vector<nlohmann::json> numbers() const { return numbers_of(config_.run.save_dir); }

  std::string weights(int64_t step) const {
    std::string bytes;
    for (const auto& [name, x] :
         read_checkpoint(checkpoint_path(config_.run.save_dir, step)).parameters) {
      bytes.append(reinterpret_cast<const char*>(x.data()), x.bytes());
    }
    return bytes;
  }

 private:
  TrainConfig config_;
};

}  // namespace loopless::testing
