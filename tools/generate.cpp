/// Writes text with a trained RNN, one character at a time as it comes.
#include <cstdio>
#include <omp.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "tools/generation.h"
#include "tools/prompt.h"
#include "tools/utf8_stream.h"
#include "train/flags.h"

namespace loopless {
namespace {

constexpr Section kGenerate{"generate", "Generate", false};
constexpr Range kProbability{"a number above 0, at most 1", 0, 1, true};

struct Options {
  std::string load;
  std::string prompt, prompt_file, dataset;
  int64_t offset = 0;
  std::string memory;
  bool echo = false;
  GenerationConfig generation;
  int threads = 0;
};

void add_flags(Flags& flags, Options& o) {
  const auto add = [&](const char* name, const Range& range, const char* unit, const char* help,
                       auto& value) {
    flags.add({kGenerate, name, range, unit, help}, value);
  };
  add("load", kText, "RUN|FILE", "a run's folder (its newest checkpoint), or a checkpoint", o.load);
  add("prompt", kText, "TEXT", "what comes before the text", o.prompt);
  add("prompt_file", kText, "FILE", "whose bytes come before the text", o.prompt_file);
  add("dataset", kText, "NAME",
      "held-out text as the prompt: Tc tokens of it; by default the run's own", o.dataset);
  add("offset", kCountOrZero, "tokens", "where in the held-out text that prompt begins", o.offset);
  add("memory", kText, "teacher|zero",
      "who makes the prompt's memory: the teacher, by default, or the RNN from zero", o.memory);
  add("echo", kBool, "True|False", "write the prompt first", o.echo);
  add("length", kCount, "tokens", "to write", o.generation.length);
  add("temperature", kNotNegative, "number", "that the logits are divided by; 0: the likeliest",
      o.generation.sampling.temperature);
  add("top_k", kCountOrZero, "tokens", "likeliest ones to draw from; 0: all",
      o.generation.sampling.top_k);
  add("top_p", kProbability, "share", "of the probability to draw from",
      o.generation.sampling.top_p);
  add("seed", kSeed, "number", "of the draws", o.generation.seed);
  add("threads", kThreads, "threads", "of the CPU; 0: all it has", o.threads);
}

void check(const Options& o) {
  if (o.load.empty()) throw UsageError("--load: is missing; the run or checkpoint to write with");
  const int prompts = !o.prompt.empty() + !o.prompt_file.empty() + !o.dataset.empty();
  if (prompts > 1) throw UsageError("--prompt, --prompt_file and --dataset: only one may be given");
  if (o.memory != "" && o.memory != "teacher" && o.memory != "zero") {
    throw UsageError("--memory: must be teacher or zero, got '" + o.memory + "'");
  }
}

std::vector<int32_t> prompt_of(const Options& o, const TrainConfig& config) {
  const int64_t vocab_size = config.rnn.vocab_size;
  if (!o.prompt.empty()) return prompt_from_bytes(o.prompt, vocab_size, "--prompt");
  if (!o.prompt_file.empty()) return prompt_from_file(o.prompt_file, vocab_size);
  const std::string& spec = o.dataset.empty() ? config.run.dataset : o.dataset;
  const Tokens held_out = open_dataset(spec, vocab_size).test;
  return prompt_from_tokens(held_out, o.offset, context_length(config));
}

/// Shows bytes on the standard output as soon as they make a character.
class Writer {
 public:
  void write(uint8_t byte) { show(text_.push(byte)); }
  /// On a terminal what comes next gets a line of its own; a file gets the text alone.
  void finish() { show(text_.finish() + (isatty(STDOUT_FILENO) ? "\n" : "")); }

 private:
  void show(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    CHECK(text.empty() || std::fflush(stdout) == 0, "cannot write to the standard output");
  }

  Utf8Stream text_;
};

void run(int argc, char** argv) {
  Options o;
  Flags flags("generate", "Writes text with a trained RNN, one character at a time.");
  add_flags(flags, o);
  if (!flags.parse(argc, argv)) return;
  check(o);
  if (o.threads > 0) omp_set_num_threads(o.threads);

  const Models models = load_models(o.load);
  const std::vector<int32_t> prompt = prompt_of(o, models.config);
  const bool from_zero = o.memory == "zero" || (o.memory.empty() && !models.teacher);
  const Tensor memory =
      read_prompt(models, prompt, from_zero ? MemorySource::kZero : MemorySource::kTeacher);
  Writer out;
  if (o.echo) {
    for (int32_t token : prompt) out.write(static_cast<uint8_t>(token));
  }
  generate(*models.rnn, memory, o.generation, [&](uint8_t byte) { out.write(byte); });
  out.finish();
}

}  // namespace
}  // namespace loopless

int main(int argc, char** argv) {
  return loopless::run_program("generate", [&] {
    loopless::run(argc, argv);
    return 0;
  });
}
