/// Writes text with a trained RNN, one character at a time as it comes, or a grid of images.
#include <cstdio>
#include <omp.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "tensor/file.h"
#include "tools/generation.h"
#include "tools/image_grid.h"
#include "tools/prompt.h"
#include "tools/utf8_stream.h"
#include "train/data/image_file.h"
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
  std::string png;
  ImageGridConfig grid;
  GenerationConfig generation;
  int threads = 0;
};

void add_flags(Flags& flags, Options& o) {
  const auto add = flags.adder(kGenerate);
  add("load", kText, "RUN|FILE", "a run's folder (its newest checkpoint), or a checkpoint", o.load);
  add("prompt", kText, "TEXT", "what comes before the text", o.prompt);
  add("prompt_file", kText, "FILE", "whose bytes come before the text", o.prompt_file);
  add("dataset", kText, "NAME", "held-out data as the prompt: Tc tokens; by default the run's own",
      o.dataset);
  add("offset", kCountOrZero, "tokens", "where in the held-out data that prompt begins", o.offset);
  add("memory", kText, "teacher|zero",
      "who makes the prompt's memory: the teacher, by default, or the RNN from zero", o.memory);
  add("echo", kBool, "True|False", "write the prompt first", o.echo);
  add("png", kText, "FILE", "instead of text: a grid of images, each begun by a held-out one",
      o.png);
  add("rows", kCount, "images", "with --png: held-out images, spread evenly", o.grid.rows);
  add("columns", kCountOrZero, "images",
      "with --png: in each row, the begun ones included; 0: one more than are begun",
      o.grid.columns);
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

void check(const Flags& flags, const Options& o) {
  if (o.load.empty()) throw UsageError("--load: is missing; the run or checkpoint to write with");
  const int prompts = !o.prompt.empty() + !o.prompt_file.empty() + !o.dataset.empty();
  if (prompts > 1) throw UsageError("--prompt, --prompt_file and --dataset: only one may be given");
  if (!o.dataset.empty()) check_dataset_flag(o.dataset);
  if (o.memory != "" && o.memory != "teacher" && o.memory != "zero") {
    throw UsageError("--memory: must be teacher or zero, got '" + o.memory + "'");
  }
  for (const char* name : {"prompt", "prompt_file", "offset", "echo", "length"}) {
    if (!o.png.empty() && flags.has(name))
      throw UsageError("--" + std::string(name) + ": has no meaning with --png; leave it out");
  }
  for (const char* name : {"rows", "columns"}) {
    if (o.png.empty() && flags.has(name))
      throw UsageError("--" + std::string(name) + ": has a meaning with --png only");
  }
}

std::vector<int32_t> prompt_of(const Options& o, const TrainConfig& config) {
  const int64_t vocab_size = config.rnn.vocab_size;
  if (!o.prompt.empty()) return prompt_from_bytes(o.prompt, vocab_size, "--prompt");
  if (!o.prompt_file.empty()) return prompt_from_file(o.prompt_file, vocab_size);
  const std::string& spec = o.dataset.empty() ? config.run.dataset : o.dataset;
  const Dataset dataset = open_dataset(spec, vocab_size);
  CHECK(!dataset.image, spec, ": holds images, no text; give --png FILE to have some written");
  return prompt_from_tokens(dataset.test, o.offset, context_length(config));
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

void write_text(const Options& o, const Models& models, MemorySource source) {
  const std::vector<int32_t> prompt = prompt_of(o, models.config);
  const Tensor memory =
      read_prompts(models, Tensor::from({1, static_cast<int64_t>(prompt.size())}, prompt), source);
  Writer out;
  if (o.echo) {
    for (int32_t token : prompt) out.write(static_cast<uint8_t>(token));
  }
  generate(*models.rnn, memory, o.generation, [&](int64_t, uint8_t byte) { out.write(byte); });
  out.finish();
}

void write_images(Options& o, const Models& models, MemorySource source) {
  const std::string& spec = o.dataset.empty() ? models.config.run.dataset : o.dataset;
  const Dataset dataset = open_dataset(spec, models.config.rnn.vocab_size);
  AtomicFile file(o.png);  // first of all: images take a while, and it may be no place to write
  o.grid.memory = source;
  o.grid.generation = o.generation;
  const ImageGrid grid = write_image_grid(models, dataset, o.grid);
  const std::vector<uint8_t> bytes = encode_png(grid.height, grid.width, grid.rgb);
  file.write(bytes.data(), static_cast<int64_t>(bytes.size()));
  file.commit();
  std::printf(
      "%s: %lld x %lld pixels; each row is a held-out image, then what the RNN makes of "
      "its blue beginning\n",
      o.png.c_str(), static_cast<long long>(grid.width), static_cast<long long>(grid.height));
}

void run(int argc, char** argv) {
  Options o;
  Flags flags("generate", "Writes text or images with a trained RNN.");
  add_flags(flags, o);
  if (!flags.parse(argc, argv)) return;
  check(flags, o);
  if (o.threads > 0) omp_set_num_threads(o.threads);

  const Models models = load_models(o.load);
  const bool from_zero = o.memory == "zero" || (o.memory.empty() && !models.teacher);
  const MemorySource source = from_zero ? MemorySource::kZero : MemorySource::kTeacher;
  o.png.empty() ? write_text(o, models, source) : write_images(o, models, source);
}

}  // namespace
}  // namespace loopless

int main(int argc, char** argv) {
  return loopless::run_program("generate", [&] {
    loopless::run(argc, argv);
    return 0;
  });
}
