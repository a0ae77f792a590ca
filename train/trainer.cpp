#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <omp.h>
#include <optional>

#include "ops/weighted_sum/weighted_sum.h"
#include "tensor/isa.h"
#include "tensor/storage.h"
#include "train/checkpoint.h"
#include "train/config_json.h"
#include "train/data/dataset.h"
#include "train/data/sampler.h"
#include "train/matmul_rate.h"
#include "train/metrics.h"
#include "train/optimizer.h"
#include "train/run_directory.h"

namespace loopless {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The test loss's draws are those of no training step.
constexpr int64_t kTestStep = -1;

/// One run: what the loop needs, in the order in which it is made.
class Run {
 public:
  Run(const TrainConfig& config, Method& method, const NamedParameters& saved)
      : config_(config),
        method_(method),
        saved_(saved),
        dataset_(open_dataset(config.run.dataset, config.rnn.vocab_size)),
        parameters_(method.groups()),
        optimizer_(parameters_, config.optimizer, config.run.n_iters),
        test_windows_(
            fixed_windows(dataset_.test, method.window_length(), config.run.test_windows)),
        // The first batch is drawn here, so that a data set that is too short is refused before
        // the run directory is touched.
        next_batch_(batch(0)),
        directory_(RunDirectory::create(config.run.save_dir, config.run.overwrite)),
        metrics_(directory_.metrics(), config.run.n_iters),
        matmul_rate_(matmul_rate()) {
    write_config(directory_.config(), config);
  }

  TrainSummary loop();

 private:
  Windows batch(int64_t step) const;
  LossTerms run_pieces(const Windows& windows, DrawKey draw);
  LossTerms step();
  void log(const LossTerms& terms);
  void save();
  void greet();

  const TrainConfig& config_;
  Method& method_;
  const NamedParameters& saved_;
  Dataset dataset_;
  FlatParameters parameters_;
  Optimizer optimizer_;
  Windows test_windows_;
  Windows next_batch_;
  RunDirectory directory_;
  Metrics metrics_;
  double matmul_rate_;  // FLOP per second

  Clock::time_point start_ = Clock::now();
  double stepping_ = 0;      // seconds inside steps since the last log line
  int64_t steps_timed_ = 0;  // and how many they were
  int64_t last_saved_ = -1;
};

Windows Run::batch(int64_t step) const {
  return sample_windows(dataset_.train, method_.window_length(), config_.optimizer.batch_size,
                        config_.run.seed, step);
}

/// All pieces of a batch, each of about batch_size / grad_accum_steps windows.
LossTerms Run::run_pieces(const Windows& windows, DrawKey draw) {
  const int64_t rows = windows.x.size(0);
  const int64_t accum = config_.optimizer.grad_accum_steps;
  const int64_t most = (config_.optimizer.batch_size + accum - 1) / accum;
  const int64_t pieces = std::max<int64_t>(1, (rows + most - 1) / most);
  LossTerms sum;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t begin = i * rows / pieces;
    const LossTerms terms = method_.run(windows, {begin, (i + 1) * rows / pieces - begin}, draw);
    if (i == 0) {
      sum = terms;
      continue;
    }
    // Into new tensors: two terms may share one.
    for (size_t n = 0; n < terms.size(); ++n) {
      sum[n].second = weighted_sum({sum[n].second, terms[n].second}, {1, 1});
    }
  }
  return sum;
}

LossTerms Run::step() {
  const auto begin = Clock::now();
  const int64_t step = optimizer_.steps_done();
  const Windows windows = std::exchange(next_batch_, {});
  parameters_.zero_grads();
  const LossTerms terms = run_pieces(windows, {config_.run.seed, step});
  optimizer_.step();
  next_batch_ = batch(step + 1);
  stepping_ += seconds_since(begin);
  ++steps_timed_;
  return terms;
}

void Run::log(const LossTerms& terms) {
  const double step_seconds = stepping_ / static_cast<double>(std::max<int64_t>(1, steps_timed_));
  const int64_t batch = config_.optimizer.batch_size;
  Record record;
  for (const auto& [name, value] : terms) record.add(name, double{value.item()}, "nats");
  {
    const NoGrad no_grad;
    const LossTerms test = run_pieces(test_windows_, {config_.run.seed, kTestStep});
    record.add("test_loss", double{test[0].second.item()}, "nats");
  }
  std::optional<double> norm_rnn, norm_teacher;
  for (const Optimizer::GroupNorm& norm : optimizer_.norms()) {
    (norm.group == "rnn" ? norm_rnn : norm_teacher) = norm.norm.item();
  }
  record.add("grad_norm_rnn", norm_rnn).add("grad_norm_teacher", norm_teacher);
  record.add("lr", optimizer_.lr());
  record.add("step_ms", step_seconds * 1e3, "ms");
  record.add("tokens_per_s",
             static_cast<double>(batch * method_.tokens_per_window()) / step_seconds, "tokens/s");
  record.add("matmul_share", method_.flop_per_step(batch) / matmul_rate_ / step_seconds);
  record.add("seconds", seconds_since(start_), "s");
  record.add("memory_mib", static_cast<double>(allocator_stats().bytes_reserved) / (1 << 20),
             "MiB");
  record.add("system_allocations", allocator_stats().system_allocations);
  metrics_.log(optimizer_.steps_done(), record);
  stepping_ = 0;
  steps_timed_ = 0;
  const float loss = terms[0].second.item();
  CHECK(std::isfinite(loss), "step ", optimizer_.steps_done(), ": the loss is ", loss,
        ", not a finite number; a lower --lr or another --seed may help");
}

void Run::save() {
  if (last_saved_ == optimizer_.steps_done()) return;
  last_saved_ = optimizer_.steps_done();
  method_.finish_weights();
  const std::string path = checkpoint_path(directory_.path(), last_saved_);
  write_checkpoint(path, config_, last_saved_, saved_);
  metrics_.say("saved " + path);
}

void Run::greet() {
  const auto count = [](int64_t n) { return std::to_string(n); };
  metrics_.say(config_.method + " on " + config_.run.dataset + ": " + count(dataset_.train.size) +
               " training and " + count(dataset_.test.size) + " test tokens");
  int64_t trained = 0, all = count_elements(saved_);
  for (const FlatParameters::Entry& entry : parameters_.entries()) {
    if (entry.grad.defined()) trained += entry.value.numel();
  }
  metrics_.say("parameters: " + count(trained) + " trained of " + count(all));
  if (config_.method == "dmt") {
    metrics_.say(config_.dmt.grad == DmtGrad::kDetach
                     ? "gradient: detach, each step's input memory is taken as given"
                     : "gradient: full_bptt, through the whole rollout");
  }
  char rate[96];
  std::snprintf(rate, sizeof rate, "cpu: %s, %d threads, matrix products at %.0f GFLOP/s",
                isa_name(), omp_get_max_threads(), matmul_rate_ / 1e9);
  metrics_.say(rate);
}

TrainSummary Run::loop() {
  greet();
  start_ = Clock::now();
  LossTerms terms;
  bool is_over = false;
  while (!is_over) {
    terms = step();
    const int64_t done = optimizer_.steps_done();
    const bool is_late =
        config_.run.max_seconds > 0 && seconds_since(start_) >= config_.run.max_seconds;
    is_over = is_late || done >= config_.run.n_iters;
    if (is_over || done % config_.run.log_every == 0 || done == 1) log(terms);
    if (config_.run.ckpt_every && done % *config_.run.ckpt_every == 0) save();
    metrics_.progress(done);
  }
  const double seconds = seconds_since(start_);
  save();
  metrics_.say("done: " + std::to_string(optimizer_.steps_done()) + " steps in " +
               duration_text(seconds) + ", run in " + directory_.path());
  return {optimizer_.steps_done(), seconds};
}

}  // namespace

TrainSummary train(const TrainConfig& config, Method& method, const NamedParameters& saved) {
  if (config.run.threads > 0) omp_set_num_threads(config.run.threads);
  Run run(config, method, saved);
  return run.loop();
}

}  // namespace loopless
