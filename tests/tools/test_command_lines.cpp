// build/generate and build/evaluate on a run that is written here.
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tensor/npy.h"
#include "tests/support/files.h"
#include "tests/support/op_test.h"
#include "tests/support/tiny_models.h"
#include "tests/tools/run_tool.h"
#include "tools/evaluation.h"
#include "tools/generation.h"
#include "tools/prompt.h"
#include "tools/utf8_stream.h"
#include "train/data/image_file.h"

namespace loopless::testing {
namespace {

constexpr int64_t kVocab = 128;

/// The folder of a run with one checkpoint, and its data set of random bytes.
class CommandLines : public ::testing::Test {
 protected:
  CommandLines() : models_(tiny_models("smt", 4, kVocab)) {
    for (const char* split : {"train", "test"}) {
      std::vector<uint8_t> bytes(100);
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i % kVocab);
      write_npy((folder_ / (std::string(split) + ".npy")), Tensor::from({100}, bytes));
    }
    models_.config.run.dataset = "npy:" + (folder_ / "train.npy") + "," + (folder_ / "test.npy");
    std::filesystem::create_directories((folder_ / "run/checkpoints"));
    NamedParameters all = models_.rnn->parameters();
    for (const NamedParameter& one : models_.teacher->parameters()) all.push_back(one);
    write_checkpoint(checkpoint_path((folder_ / "run"), 3), models_.config, 3, all);
  }

  Outcome run(const std::string& tool, const std::string& flags) {
    return run_command(build_folder() + "/" + tool + " --load " + (folder_ / "run") + " " + flags);
  }
  void expect_error(const std::string& tool, const std::string& flags, int status,
                    const std::string& message) {
    const Outcome outcome = run(tool, flags);
    EXPECT_EQ(outcome.output, tool + ": " + message + "\n");
    EXPECT_EQ(outcome.status, status);
  }
  /// What the library writes after `prompt`.
  std::string expected_text(const std::string& prompt, MemorySource source,
                            const GenerationConfig& config) {
    const auto tokens = prompt_from_bytes(prompt, kVocab, "prompt");
    Utf8Stream text;
    std::string result;
    const Tensor row = Tensor::from({1, static_cast<int64_t>(tokens.size())}, tokens);
    generate(*models_.rnn, read_prompts(models_, row, source), config,
             [&](int64_t, uint8_t byte) { result += text.push(byte); });
    return result + text.finish();
  }

  TemporaryFolder folder_;
  Models models_;
};

TEST_F(CommandLines, generate_writes_what_the_library_writes) {
  const Outcome first = run("generate", "--prompt 'In the' --length 30 --seed 7");
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(first.output,
            expected_text("In the", MemorySource::kTeacher, {.length = 30, .seed = 7}));

  write_bytes(folder_ / "prompt.txt", "In the");
  const Outcome second = run("generate", "--prompt_file " + (folder_ / "prompt.txt") +
                                             " --memory zero --echo True --length 30 --top_k 5 "
                                             "--top_p 0.9 --temperature 2");
  EXPECT_EQ(second.output,
            "In the" + expected_text("In the", MemorySource::kZero,
                                     {.length = 30,
                                      .sampling = {.temperature = 2, .top_k = 5, .top_p = 0.9}}));

  // Tokens 7 ... 10 of the held-out text: 49, 64, 81, 100.
  EXPECT_EQ(run("generate", "--offset 7 --echo True --length 1").output.substr(0, 4), "1@Qd");
}

TEST_F(CommandLines, generate_errors) {
  expect_error("generate", "--prompt Ä", 1,
               "--prompt: byte 195 at offset 0 must be below the model's vocabulary, 128");
  expect_error("generate", "--offset 97", 1,
               (folder_ / "test.npy") +
                   ": a prompt of 4 tokens from offset 97 on ends after the last of 100 tokens");
  expect_error("generate", "--memory none", 2, "--memory: must be teacher or zero, got 'none'");
  expect_error("generate", "--prompt a --dataset kjv", 2,
               "--prompt, --prompt_file and --dataset: only one may be given");
  expect_error("generate", "--top_p 0", 2, "--top_p: must be a number above 0, at most 1, got '0'");
  expect_error("generate", "--png " + (folder_ / "a.png"), 1,
               (folder_ / "test.npy") + ": is not known to hold images; see train/data/README.md");
  expect_error("generate", "--prompt a >/dev/full", 1, "cannot write to the standard output");
}

TEST_F(CommandLines, generate_draws_images) {
  write_bytes(folder_ / "image.json", R"({"height": 5, "width": 4, "patch": 1})");
  const Outcome outcome = run("generate", "--rows 2 --columns 3 --png " + (folder_ / "a.png"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  // An image of 5 x 4 pixels is enlarged 17 times, to at least 84; gaps are 4 pixels wide.
  const Image grid = read_image(folder_ / "a.png");
  ASSERT_EQ(grid.height, 4 + 2 * (85 + 4));
  ASSERT_EQ(grid.width, 4 + 4 * (68 + 4) + 4);
  const auto pixel = [&](int64_t row, int64_t column, int64_t y, int64_t x) {
    const int64_t left = 4 + column * 72 + (column > 0 ? 4 : 0) + x * 17;
    return grid.pixels[(4 + row * 89 + y * 17) * grid.width + left];
  };
  // Of the 5 held-out images, rows begin with number 0 and number 2.
  for (int64_t row = 0; row < 2; ++row) {
    for (int64_t i = 0; i < 20; ++i) {
      const int64_t at = 40 * row + i;
      EXPECT_EQ(pixel(row, 0, i / 4, i % 4), at * at % kVocab);
    }
  }
  expect_error(
      "generate", "--length 3", 1,
      models_.config.run.dataset + ": holds images, no text; give --png FILE to have some written");
  expect_error("generate", "--rows 6 --png " + (folder_ / "a.png"), 1,
               (folder_ / "test.npy") +
                   ": has 5 images that can be begun with 20 tokens, fewer than the 6 rows");
  expect_error("generate", "--prompt a --png " + (folder_ / "a.png"), 2,
               "--prompt: has no meaning with --png; leave it out");
  expect_error("generate", "--prompt a --rows 3", 2, "--rows: has a meaning with --png only");
  expect_error("generate", "--png /nowhere/a.png", 1,
               "/nowhere/a.png: cannot write: No such file or directory");
}

TEST_F(CommandLines, evaluate_writes_what_the_library_measures) {
  const Outcome outcome = run("evaluate", "--windows 5 --length 12 --json " + (folder_ / "e.json"));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.output.find("smt, step 3; 5 windows of 4 + 12 tokens"), std::string::npos)
      << outcome.output;
  const Evaluation expected = evaluate(models_, open_dataset(models_.config.run.dataset, kVocab),
                                       {.windows = 5, .length = 12, .context = 4});
  const nlohmann::json json = nlohmann::json::parse(read_bytes(folder_ / "e.json"));
  EXPECT_EQ(json["unigram"], expected.unigram);
  EXPECT_EQ(json["teacher"]["bits"], expected.teacher->mean());
  EXPECT_EQ(json["rnn"]["bits"], expected.rnn.mean());
  EXPECT_EQ(json["rnn"]["bits_first8"], expected.rnn.first8());
  EXPECT_EQ(json["rnn"]["bits_last32"], expected.rnn.last32());
  EXPECT_EQ(json["rnn"]["by_position"], expected.rnn.by_position);
  EXPECT_EQ(json["drift"], expected.drift);
}

TEST_F(CommandLines, train_dmt_needs_a_teacher) {
  const Outcome outcome =
      run_command(build_folder() + "/train_dmt --dataset kjv --save_dir " + (folder_ / "new"));
  EXPECT_EQ(outcome.output,
            "train_dmt: --load_teacher_path: must name a run or a checkpoint, since DMT's labels "
            "are a trained teacher's memories; train one with train_smt\n");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
}

TEST_F(CommandLines, evaluate_errors) {
  expect_error("evaluate", "--dataset text:/nowhere/t", 1,
               "/nowhere/t: cannot open: No such file or directory");
  expect_error("evaluate", "--length 200", 1,
               (folder_ / "test.npy") +
                   ": a split of 100 tokens is shorter than one window of T + 1 = 204; use a "
                   "smaller T or more data");
  expect_error("evaluate", "--batch 0", 2,
               "--batch: must be a whole number from 1 to 2147483647, got '0'");
}

}  // namespace
}  // namespace loopless::testing
