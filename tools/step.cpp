/// One training step of a checkpoint on a given batch: its losses and gradients in a file, and
/// how long such steps take. What tools/compare_pytorch.py holds against PyTorch.
///
/// With --serve it does one step for each line it reads, and answers with its time in ms, so that
/// two programs can be timed in turns.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <omp.h>
#include <string>

#include <nlohmann/json.hpp>

#include "tensor/safetensors.h"
#include "train/bptt.h"
#include "train/checkpoint.h"
#include "train/config_json.h"
#include "train/dmt.h"
#include "train/flags.h"
#include "train/optimizer.h"
#include "train/smt.h"

namespace loopless {
namespace {

constexpr Section kStep{"step", "Step", false};

struct Options {
  std::string load, batch, output;
  int64_t repeat = 0;
  bool serve = false, describe = false;
  int threads = 0;
};

void add_flags(Flags& flags, Options& o) {
  const auto add = flags.adder(kStep);
  add("load", kText, "RUN|FILE", "a run's folder (its newest checkpoint), or a checkpoint", o.load);
  add("batch", kText, "FILE", "safetensors: x and y, i32 [B, T], the inputs and the next tokens",
      o.batch);
  add("output", kText, "FILE", "safetensors: the loss terms, and grad.NAME of each parameter",
      o.output);
  add("repeat", kCountOrZero, "steps", "whole training steps, whose times in ms are printed",
      o.repeat);
  add("serve", kBool, "True|False", "one training step for each line of the standard input",
      o.serve);
  add("describe", kBool, "True|False", "only print the checkpoint's settings, as JSON", o.describe);
  add("threads", kThreads, "threads", "of the CPU; 0: all it has", o.threads);
}

/// x and y of the file, checked against what the models take.
Windows read_batch(const std::string& path, int64_t vocab_size) {
  const SafetensorsFile file = read_safetensors(path);
  const auto ids = [&](const char* name) {
    const auto it = file.tensors.find(name);
    CHECK(it != file.tensors.end(), path, ": has no tensor ", name);
    const Tensor& found = it->second;
    CHECK(found.dtype() == kI32 && found.shape().rank() == 2 && found.numel() > 0, path, ": ", name,
          " must be i32 [B, T], got ", found.dtype(), " ", found.shape());
    for (int64_t i = 0; i < found.numel(); ++i) {
      const int32_t token = found.data<int32_t>()[i];
      CHECK(token >= -1 && token < vocab_size, path, ": ", name, " holds the token ", token,
            ", the vocabulary has ", vocab_size);
    }
    return found;
  };
  const Windows windows{ids("x"), ids("y")};
  CHECK(windows.x.shape() == windows.y.shape(), path, ": x is ", windows.x.shape(), ", y is ",
        windows.y.shape());
  return windows;
}

std::unique_ptr<Method> make_method(const Models& models) {
  const TrainConfig& config = models.config;
  if (config.method == "bptt") return std::make_unique<Bptt>(*models.rnn, config.bptt);
  if (config.method == "dmt") {
    return std::make_unique<Dmt>(*models.teacher, *models.rnn, config.dmt);
  }
  return std::make_unique<Smt>(*models.teacher, *models.rnn, config.smt);
}

/// What training keeps between steps.
class Training {
 public:
  Training(const Models& models, const Windows& windows)
      : method_(make_method(models)),
        parameters_(method_->groups()),
        optimizer_(parameters_, models.config.optimizer, models.config.run.n_iters),
        windows_(windows) {}

  /// Leaves the gradients in the parameters.
  LossTerms losses_and_gradients() {
    parameters_.zero_grads();
    return method_->run(windows_, {0, windows_.x.size(0)}, {0, optimizer_.steps_done()});
  }
  /// Forward, backward, clipping and AdamW; the time in ms.
  double timed_step() {
    const auto start = std::chrono::steady_clock::now();
    const LossTerms losses = losses_and_gradients();
    optimizer_.step(losses[0].second);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    return time.count();
  }
  void write(const std::string& path) {
    NamedTensors result = losses_and_gradients();
    for (const FlatParameters::Entry& entry : parameters_.entries()) {
      if (entry.grad.defined()) result.emplace_back("grad." + entry.name, entry.grad);
    }
    write_safetensors(path, result);
  }

 private:
  std::unique_ptr<Method> method_;
  FlatParameters parameters_;
  Optimizer optimizer_;
  Windows windows_;
};

void answer(double ms) {
  std::printf("%.3f\n", ms);
  std::fflush(stdout);
}

void run(int argc, char** argv) {
  Options o;
  Flags flags("step", "One training step of a checkpoint on a given batch.");
  add_flags(flags, o);
  if (!flags.parse(argc, argv)) return;
  if (o.load.empty()) throw UsageError("--load: is missing; the run or checkpoint to train");
  if (o.describe) {
    std::printf("%s\n", to_json(read_checkpoint(o.load).config).dump().c_str());
    return;
  }
  if (o.batch.empty()) throw UsageError("--batch: is missing; the file with the tokens x and y");
  if (o.threads > 0) omp_set_num_threads(o.threads);

  const Models models = load_models(o.load);
  Training training(models, read_batch(o.batch, models.config.rnn.vocab_size));
  if (!o.output.empty()) training.write(o.output);
  for (int64_t i = 0; i < o.repeat; ++i) answer(training.timed_step());
  for (std::string line; o.serve && std::getline(std::cin, line);) answer(training.timed_step());
}

}  // namespace
}  // namespace loopless

int main(int argc, char** argv) {
  return loopless::run_program("step", [&] {
    loopless::run(argc, argv);
    return 0;
  });
}
