#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <omp.h>
#include <optional>

#include "ops/weighted_sum/weighted_sum.h"
#include "tensor/isa.h"
#include "tensor/storage.h"
#include "train/config_json.h"
#include "train/data/dataset.h"
#include "train/data/fingerprint.h"
#include "train/data/sampler.h"
#include "train/dry_run.h"
#include "train/finite.h"
#include "train/matmul_rate.h"
#include "train/metrics.h"
#include "train/optimizer.h"
#include "train/pieces.h"
#include "train/resume.h"
#include "train/run_directory.h"
#include "train/saver.h"
#include "train/stop_signal.h"

namespace loopless {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The test loss's draws are those of no training step.
constexpr int64_t kTestStep = -1;
constexpr int64_t kMostSkipsInARow = 10;

/// One run: what the loop needs, in the order in which it is made.
class Run {
 public:
  Run(const TrainConfig& config, Method& method, const NamedParameters& saved,
      const StartWeights& start)
      : config_(config),
        method_(method),
        saved_(saved),
        dataset_(open_dataset(config.run.dataset, config.rnn.vocab_size)),
        directory_(config.run.save_dir),
        data_(fingerprint(dataset_)),
        resumption_(find_resumption(config, directory_, data_)),
        parameters_(method.groups()),
        optimizer_(parameters_, config.optimizer, config.run.n_iters),
        saver_(config, directory_, saved, parameters_, optimizer_),
        notes_(begin(start)),
        test_windows_(
            fixed_windows(dataset_.test, method.window_length(), config.run.test_windows)),
        // The first batch is drawn here, so that a data set that is too short is refused before
        // the run directory is touched.
        next_batch_(batch(optimizer_.steps_done())),
        matmul_rate_(matmul_rate()),
        metrics_(prepare_folder(), optimizer_.steps_done(), config.run.n_iters) {
    write_config(directory_.config(), config);
  }

  TrainSummary loop();

 private:
  std::vector<std::string> begin(const StartWeights& start);
  std::string prepare_folder();
  Windows batch(int64_t step) const;
  LossTerms step();
  void watch_skips(double loss);
  std::optional<double> test_loss();
  void log(const LossTerms& terms);
  void save();
  void greet();
  TrainSummary end(int signal);
  bool is_late() const {
    return config_.run.max_seconds > 0 && seconds() >= config_.run.max_seconds;
  }
  double seconds() const { return seconds_before_ + seconds_since(start_); }

  const TrainConfig& config_;
  Method& method_;
  const NamedParameters& saved_;
  Dataset dataset_;
  RunDirectory directory_;
  std::string data_;  // fingerprint
  Resumption resumption_;
  FlatParameters parameters_;
  Optimizer optimizer_;
  Saver saver_;
  Progress saved_progress_;          // as of the last checkpoint
  double seconds_before_ = 0;        // of earlier sittings
  std::optional<StopSignals> stop_;  // from the moment that the folder is changed
  std::vector<std::string> notes_;   // for `greet`
  Windows test_windows_;
  Windows next_batch_;
  double matmul_rate_;  // FLOP per second
  Metrics metrics_;

  Clock::time_point start_ = Clock::now();
  double stepping_ = 0;      // seconds inside steps since the last log line
  int64_t steps_timed_ = 0;  // and how many they were
  double test_loss_ = 0;
  int64_t tested_ = -1;  // the step that test_loss_ is of
  int64_t last_saved_ = -1;
  std::string not_saved_;  // what was wrong with the last save; empty: nothing
};

/// The first weights, from a checkpoint to go on from or from `start`.
std::vector<std::string> Run::begin(const StartWeights& start) {
  std::vector<std::string> notes = resumption_.notes;
  if (!resumption_.from) {
    if (start) {
      for (std::string& line : start()) notes.push_back(std::move(line));
    }
    return notes;
  }
  saver_.restore(*resumption_.from);
  saved_progress_ = resumption_.from->training->progress;
  optimizer_.restore(saved_progress_.counts);
  seconds_before_ = saved_progress_.seconds;
  last_saved_ = saved_progress_.counts.steps;
  return notes;
}

/// From here on the folder is changed. Returns the path of metrics.jsonl.
std::string Run::prepare_folder() {
  {
    // What is wrong with the models shows now, while an earlier run is still there.
    const NoGrad rehearsal;
    method_.run(next_batch_, {0, 1}, {config_.run.seed, kTestStep});
  }
  stop_.emplace();  // until now a signal ended the process and left no trace
  if (resumption_.is_same_run) {
    directory_.ensure();
    directory_.remove_unfinished();
  } else {
    directory_.create(config_.run.overwrite);
    if (resumption_.from) {
      copy_history(*resumption_.from, directory_);
      last_saved_ = -1;                        // not here
      saved_progress_.best_test_loss.reset();  // nor is the other run's best one
      saved_progress_.best_step = -1;
    }
  }
  resumption_ = {};  // frees the checkpoint
  return directory_.metrics();
}

Windows Run::batch(int64_t step) const {
  return sample_windows(dataset_.train, method_.window_length(), config_.optimizer.batch_size,
                        config_.run.seed, step);
}

LossTerms Run::step() {
  const auto begin = Clock::now();
  const int64_t step = optimizer_.steps_done();
  const Windows windows = std::exchange(next_batch_, {});
  parameters_.zero_grads();
  const LossTerms terms = run_pieces(method_, windows, config_.optimizer, {config_.run.seed, step});
  optimizer_.step(terms[0].second);
  next_batch_ = batch(step + 1);
  stepping_ += seconds_since(begin);
  ++steps_timed_;
  return terms;
}

void Run::watch_skips(double loss) {
  const UpdateCounts counts = optimizer_.counts();
  if (counts.skipped_in_a_row == 0) return;
  std::string reason = what_is_not_finite(parameters_, loss);
  if (reason.empty()) reason = "a gradient norm is not a finite number";
  metrics_.say("step " + std::to_string(counts.steps) + " skipped: " + reason + " (" +
               std::to_string(counts.skipped) + " skipped so far, " +
               std::to_string(counts.skipped_in_a_row) + " in a row)");
  if (counts.skipped_in_a_row < kMostSkipsInARow) return;
  save();  // the weights are those of the last good step
  detail::throw_error("step ", counts.steps, ": ", kMostSkipsInARow,
                      " steps in a row were skipped; ", reason,
                      "; in a new run, a lower --lr or another --seed may help");
}

std::optional<double> Run::test_loss() {
  if (config_.run.test_windows == 0) return std::nullopt;
  if (tested_ == optimizer_.steps_done()) return test_loss_;
  const NoGrad no_grad;
  const LossTerms terms =
      run_pieces(method_, test_windows_, config_.optimizer, {config_.run.seed, kTestStep});
  tested_ = optimizer_.steps_done();
  return test_loss_ = double{terms[0].second.item()};
}

void Run::log(const LossTerms& terms) {
  const double step_seconds = stepping_ / static_cast<double>(std::max<int64_t>(1, steps_timed_));
  const int64_t batch = config_.optimizer.batch_size;
  Record record;
  for (const auto& [name, value] : terms) record.add(name, double{value.item()}, "nats");
  record.add("test_loss", test_loss(), "nats");
  std::optional<double> norm_rnn, norm_teacher;
  for (const Optimizer::GroupNorm& norm : optimizer_.norms()) {
    (norm.group == "rnn" ? norm_rnn : norm_teacher) = norm.norm.item();
  }
  record.add("grad_norm_rnn", norm_rnn).add("grad_norm_teacher", norm_teacher);
  record.add("lr", optimizer_.lr());
  record.add("skipped_steps", optimizer_.counts().skipped);
  record.add("step_ms", step_seconds * 1e3, "ms");
  record.add("tokens_per_s",
             static_cast<double>(batch * method_.tokens_per_window()) / step_seconds, "tokens/s");
  record.add("matmul_share", method_.flop_per_step(batch) / matmul_rate_ / step_seconds);
  record.add("seconds", seconds(), "s");
  record.add("memory_mib", static_cast<double>(allocator_stats().bytes_reserved) / (1 << 20),
             "MiB");
  record.add("system_allocations", allocator_stats().system_allocations);
  metrics_.log(optimizer_.steps_done(), record);
  stepping_ = 0;
  steps_timed_ = 0;
}

void Run::save() {
  if (last_saved_ == optimizer_.steps_done()) return;
  method_.finish_weights();
  Progress progress = saved_progress_;
  progress.counts = optimizer_.counts();
  progress.seconds = seconds();
  progress.data = data_;
  progress.test_loss = test_loss();
  if (progress.test_loss && !std::isfinite(*progress.test_loss)) progress.test_loss.reset();
  if (progress.test_loss &&
      (!progress.best_test_loss || *progress.test_loss < *progress.best_test_loss)) {
    progress.best_test_loss = progress.test_loss;
    progress.best_step = progress.counts.steps;
  }
  metrics_.sync();
  try {
    const std::string bad = what_weight_is_not_finite(parameters_);
    CHECK(bad.empty(), bad);
    metrics_.say("saved " + saver_.save(progress));
    saved_progress_ = progress;
    last_saved_ = progress.counts.steps;
    not_saved_.clear();
  } catch (const Error& error) {
    not_saved_ = error.what();
    metrics_.say("step " + std::to_string(progress.counts.steps) + " is not saved: " + not_saved_);
  }
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
  for (const std::string& note : notes_) metrics_.say(note);
}

TrainSummary Run::loop() {
  greet();
  start_ = Clock::now();
  if (optimizer_.steps_done() >= config_.run.n_iters || is_late()) {
    metrics_.say("nothing is left to do: the run is at step " +
                 std::to_string(optimizer_.steps_done()) + "; a larger --" +
                 (is_late() ? "max_seconds" : "n_iters") + " goes on");
    save();
    return end(0);
  }
  bool is_over = false;
  while (!is_over && stop_->received() == 0) {
    const LossTerms terms = step();
    watch_skips(terms[0].second.item());
    const int64_t done = optimizer_.steps_done();
    is_over = done >= config_.run.n_iters || is_late();
    if (is_over || done % config_.run.log_every == 0 || done == 1) log(terms);
    if (config_.run.ckpt_every && done % *config_.run.ckpt_every == 0) save();
    metrics_.progress(done);
  }
  if (is_over && optimizer_.steps_done() < config_.run.n_iters) {
    metrics_.say("the time of --max_seconds is over; a larger one goes on, with --resume auto");
  }
  const int signal = is_over ? 0 : stop_->received();
  if (signal) metrics_.say(std::string("stopping: ") + StopSignals::name_of(signal));
  save();
  return end(signal);
}

TrainSummary Run::end(int signal) {
  const int64_t done = optimizer_.steps_done();
  metrics_.sync();
  CHECK(
      not_saved_.empty(), "step ", done, " could not be saved: ", not_saved_,
      last_saved_ >= 0 ? "; the newest checkpoint is of step " + std::to_string(last_saved_) : "");
  CHECK(metrics_.waiting() == 0, directory_.metrics(), ": ", metrics_.waiting(),
        " log lines could not be written");
  metrics_.say(signal ? "to go on: " + config_.run.resume_command
                      : "done: " + std::to_string(done) + " steps in " + duration_text(seconds()) +
                            ", run in " + directory_.path());
  return {done, seconds(), signal};
}

}  // namespace

TrainSummary train(const TrainConfig& config, Method& method, const NamedParameters& saved,
                   const StartWeights& start) {
  if (config.run.threads > 0) omp_set_num_threads(config.run.threads);
  if (config.run.dry_run) {
    if (start && config.run.resume == "never") start();  // what cannot be loaded is said now
    dry_run(config, method, saved);
    return {};
  }
  Run run(config, method, saved, start);
  return run.loop();
}

}  // namespace loopless
