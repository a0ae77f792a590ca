#include "train/dry_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <omp.h>

#include "tensor/isa.h"
#include "tensor/storage.h"
#include "train/data/dataset.h"
#include "train/data/sampler.h"
#include "train/matmul_rate.h"
#include "train/metrics.h"
#include "train/optimizer.h"
#include "train/pieces.h"

namespace loopless {
namespace {

constexpr int64_t kFewWindows = 4;
constexpr double kMiB = 1 << 20;

/// "teacher.encoder" of "teacher.encoder.layer0.attention.norm.gain".
std::string part_of(const std::string& parameter) {
  const size_t dot = parameter.find('.');
  return parameter.substr(0, parameter.find('.', dot + 1));
}

void print_parameters(const NamedParameters& saved, int64_t trained) {
  std::vector<std::pair<std::string, int64_t>> parts;
  for (const NamedParameter& parameter : saved) {
    const std::string part = part_of(parameter.name);
    if (parts.empty() || parts.back().first != part) parts.push_back({part, 0});
    parts.back().second += parameter.tensor->numel();
  }
  for (const auto& [part, count] : parts) {
    std::printf("  %-20s %12lld\n", part.c_str(), static_cast<long long>(count));
  }
  std::printf("  %-20s %12lld, of which %lld are trained\n", "all",
              static_cast<long long>(count_elements(saved)), static_cast<long long>(trained));
}

struct Measured {
  double seconds = 0;  // of one training step
  double bytes = 0;    // of tensors at its peak
};

/// A training step on `rows` windows in one piece; the second of two, since the first allocates.
Measured measure_step(const TrainConfig& config, Method& method, const Tokens& tokens,
                      const FlatParameters& parameters, Optimizer& optimizer, int64_t rows) {
  OptimizerConfig whole = config.optimizer;
  whole.batch_size = rows;
  whole.grad_accum_steps = 1;
  Measured result;
  for (int i = 0; i < 2; ++i) {
    const Windows windows =
        sample_windows(tokens, method.window_length(), rows, config.run.seed, i);
    const auto start = std::chrono::steady_clock::now();
    parameters.zero_grads();
    const LossTerms terms = run_pieces(method, windows, whole, {config.run.seed, i});
    optimizer.step(terms[0].second);
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  result.bytes = static_cast<double>(allocator_stats().bytes_peak);
  return result;
}

int64_t count_trained(const FlatParameters& parameters) {
  int64_t trained = 0;
  for (const FlatParameters::Entry& entry : parameters.entries()) {
    if (entry.grad.defined()) trained += entry.value.numel();
  }
  return trained;
}

}  // namespace

void dry_run(const TrainConfig& config, Method& method, const NamedParameters& saved) {
  const Dataset dataset = open_dataset(config.run.dataset, config.rnn.vocab_size);
  std::printf("data: %s, %lld training and %lld test tokens, windows of %lld\n",
              config.run.dataset.c_str(), static_cast<long long>(dataset.train.size),
              static_cast<long long>(dataset.test.size),
              static_cast<long long>(method.window_length()));
  fixed_windows(dataset.test, method.window_length(), 1);  // refuses a split that is too short
  const FlatParameters parameters(method.groups());
  Optimizer optimizer(parameters, config.optimizer, config.run.n_iters);
  std::printf("parameters:\n");
  print_parameters(saved, count_trained(parameters));

  const OptimizerConfig& settings = config.optimizer;
  const int64_t piece = settings.batch_size / settings.grad_accum_steps;
  const int64_t few = std::min(kFewWindows, piece);
  const int64_t fewer = std::min<int64_t>(2, piece);  // of one alone there is no uniformity loss
  const Measured start = measure_step(config, method, dataset.train, parameters, optimizer, fewer);
  const Measured some =
      few == fewer ? start
                   : measure_step(config, method, dataset.train, parameters, optimizer, few);
  const double a_window =
      few == fewer ? 0 : (some.bytes - start.bytes) / static_cast<double>(few - fewer);
  const double fixed =
      4.0 * static_cast<double>(parameters.values().numel() + 3 * parameters.trained_count());
  std::printf(
      "memory: %.0f MiB of weights, gradients and moments; about %.0f MiB in a step, with "
      "%lld windows at a time\n",
      fixed / kMiB, (some.bytes + a_window * static_cast<double>(piece - few)) / kMiB,
      static_cast<long long>(piece));

  const double rate = matmul_rate(), flop = method.flop_per_step(settings.batch_size);
  const double step =
      some.seconds / static_cast<double>(few) * static_cast<double>(settings.batch_size);
  std::printf(
      "step: %.4g GFLOP of matrix products, %.3g s at this machine's %.0f GFLOP/s (%s, %d "
      "threads); about %.3g s, going by a step of %lld windows\n",
      flop / 1e9, flop / rate, rate / 1e9, isa_name(), omp_get_max_threads(), step,
      static_cast<long long>(few));
  std::printf("run: %lld steps, about %s\n", static_cast<long long>(config.run.n_iters),
              duration_text(step * static_cast<double>(config.run.n_iters)).c_str());
  if (std::fflush(stdout) != 0) detail::throw_error("cannot write to the standard output");
}

}  // namespace loopless
