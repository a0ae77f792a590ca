/// Measures a run on held-out data: bits per token of teacher and RNN, and the drift of the
/// memory.
#include <chrono>
#include <cstdio>
#include <omp.h>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "tensor/file.h"
#include "tools/evaluation.h"
#include "tools/prompt.h"
#include "train/flags.h"

namespace loopless {
namespace {

constexpr Section kEvaluate{"evaluate", "Evaluate", false};

struct Options {
  std::string load, dataset, json;
  EvaluationConfig evaluation{.context = 0};
  int threads = 0;
};

void add_flags(Flags& flags, Options& o) {
  const auto add = flags.adder(kEvaluate);
  add("load", kText, "RUN|FILE", "a run's folder (its newest checkpoint), or a checkpoint", o.load);
  add("dataset", kText, "NAME", "whose held-out split is read; by default the run's own",
      o.dataset);
  add("windows", kCount, "windows", "spread evenly over the held-out split", o.evaluation.windows);
  add("length", kCount, "tokens", "predicted in each window", o.evaluation.length);
  add("context", kCountOrZero, "tokens", "read before them; 0: Tc of the run, or for BPTT its T",
      o.evaluation.context);
  add("batch", kCount, "windows", "read together", o.evaluation.batch);
  add("json", kText, "FILE", "where the result is written, too", o.json);
  add("threads", kThreads, "threads", "of the CPU; 0: all it has", o.threads);
}

nlohmann::json to_json(const Bits& bits) {
  return {{"bits", bits.mean()},
          {"bits_first8", bits.first8()},
          {"bits_last32", bits.last32()},
          {"by_position", bits.by_position}};
}

void write_json(AtomicFile& file, const Options& o, const Models& models,
                const Evaluation& result) {
  nlohmann::ordered_json json = {{"load", o.load},
                                 {"method", models.config.method},
                                 {"step", models.step},
                                 {"dataset", o.dataset},
                                 {"windows", result.windows},
                                 {"context", o.evaluation.context},
                                 {"length", o.evaluation.length},
                                 {"unigram", result.unigram},
                                 {"teacher", nullptr},
                                 {"rnn", to_json(result.rnn)},
                                 {"drift", result.drift}};
  if (result.teacher) json["teacher"] = to_json(*result.teacher);
  file.write(json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
  file.commit();
}

void print_bits(const char* name, const Bits& bits) {
  std::printf("%-14s %8.3f %8.3f %8.3f\n", name, bits.mean(), bits.first8(), bits.last32());
}

/// `pixels`: of a token, 1 unless the data set is of patches.
void print(const Options& o, const Models& models, const Evaluation& result, int64_t pixels,
           double seconds) {
  std::printf("%s: %s, step %lld; %lld windows of %lld + %lld tokens of %s, in %.1f s\n\n",
              o.load.c_str(), models.config.method.c_str(), static_cast<long long>(models.step),
              static_cast<long long>(result.windows), static_cast<long long>(o.evaluation.context),
              static_cast<long long>(o.evaluation.length), o.dataset.c_str(), seconds);
  std::printf("bits per token     mean  first 8  last 32\n");
  std::printf("%-14s %8.3f\n", "unigram", result.unigram);
  if (result.teacher) print_bits("teacher", *result.teacher);
  print_bits("rnn", result.rnn);
  if (pixels > 1) std::printf("a token is %lld pixels\n", static_cast<long long>(pixels));
  if (result.drift.empty()) return;
  std::printf("\nupdates        drift (mean squared distance from the teacher's memory)\n");
  for (size_t p = 1; p < result.drift.size(); p *= 2) {
    std::printf("%7zu %12.4f\n", p, result.drift[p]);
  }
  if (result.drift.size() > 1) {
    std::printf("%7zu %12.4f\n", result.drift.size() - 1, result.drift.back());
  }
}

void run(int argc, char** argv) {
  Options o;
  Flags flags("evaluate", "Measures a run on held-out data: bits per token, and drift.");
  add_flags(flags, o);
  if (!flags.parse(argc, argv)) return;
  if (o.load.empty()) throw UsageError("--load: is missing; the run or checkpoint to measure");
  if (!o.dataset.empty()) check_dataset_flag(o.dataset);
  if (o.threads > 0) omp_set_num_threads(o.threads);
  std::optional<AtomicFile> json;  // first of all: measuring takes a while
  if (!o.json.empty()) json.emplace(o.json);

  const auto start = std::chrono::steady_clock::now();
  const Models models = load_models(o.load);
  if (o.dataset.empty()) o.dataset = models.config.run.dataset;
  if (o.evaluation.context == 0) o.evaluation.context = context_length(models.config);
  const Dataset dataset = open_dataset(o.dataset, models.config.rnn.vocab_size);
  const Evaluation result = evaluate(models, dataset, o.evaluation);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const int64_t patch = dataset.image ? dataset.image->patch : 1;
  print(o, models, result, patch * patch, seconds.count());
  CHECK(std::fflush(stdout) == 0, "cannot write to the standard output");
  if (json) write_json(*json, o, models, result);
}

}  // namespace
}  // namespace loopless

int main(int argc, char** argv) {
  return loopless::run_program("evaluate", [&] {
    loopless::run(argc, argv);
    return 0;
  });
}
