#include <filesystem>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"
#include "train/resume.h"

namespace loopless::testing {
namespace {

namespace fs = std::filesystem;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

/// A run of eight steps that saves every second one.
TinyRun run_of_eight(const TemporaryFolder& folder, const std::string& method,
                     const std::string& name) {
  TinyRun run(folder, method, name);
  run.config().run.n_iters = 8;
  run.config().run.log_every = 3;
  run.config().run.ckpt_every = 2;
  run.config().run.keep.reset();
  return run;
}

/// Removes what a run wrote after `step`, as if it had been killed before the next checkpoint.
void forget_after(const std::string& run, int64_t step) {
  for (const CheckpointFile& file : list_checkpoints(run)) {
    if (file.step > step) fs::remove(file.path);
  }
}

TEST(Resume, ends_as_if_it_had_never_stopped) {
  for (const char* method : kMethods) {
    const TemporaryFolder folder;
    TinyRun whole = run_of_eight(folder, method, "whole");
    whole.train();
    for (int64_t step : {2, 6}) {
      TinyRun resumed = run_of_eight(folder, method, "resumed" + std::to_string(step));
      const std::string path = resumed.config().run.save_dir;
      resumed.train();
      forget_after(path, step);
      resumed.config().run.resume = "auto";
      EXPECT_EQ(resumed.train().steps, 8);
      EXPECT_TRUE(training_bytes_of(path) == training_bytes_of(folder / "whole"))
          << method << " from step " << step;
      EXPECT_EQ(resumed.numbers(), whole.numbers()) << method << " from step " << step;
    }
  }
}

TEST(Resume, starts_where_there_is_nothing_yet) {
  const TemporaryFolder folder;
  TinyRun whole = run_of_eight(folder, "smt", "whole"),
          other = run_of_eight(folder, "smt", "other");
  whole.train();
  other.config().run.resume = "auto";
  other.train();
  EXPECT_TRUE(training_bytes_of(folder / "other") == training_bytes_of(folder / "whole"));
  // Killed before its first checkpoint.
  forget_after(folder / "other", 0);
  other.train();
  EXPECT_TRUE(training_bytes_of(folder / "other") == training_bytes_of(folder / "whole"));
  EXPECT_EQ(other.numbers(), whole.numbers());
  // Already at its end.
  const std::string before = training_bytes_of(folder / "other");
  EXPECT_EQ(other.train().steps, 8);
  EXPECT_TRUE(training_bytes_of(folder / "other") == before);
}

TEST(Resume, skips_what_is_not_whole) {
  const TemporaryFolder folder;
  TinyRun run = run_of_eight(folder, "smt", "run");
  run.train();
  const std::string path = folder / "run", last = training_bytes_of(path);
  for (int64_t step : {6, 8}) {
    const std::string file = checkpoint_path(path, step), bytes = read_bytes(file);
    write_bytes(file, bytes.substr(0, bytes.size() - 10));
  }
  run.config().run.resume = "auto";
  const RunDirectory directory(path);
  const Resumption found = find_resumption(
      run.config(), directory, read_checkpoint(checkpoint_path(path, 4)).training->progress.data);
  ASSERT_EQ(found.notes.size(), 3u);
  EXPECT_EQ(found.notes[0].rfind("skipped " + checkpoint_path(path, 8) + ": ", 0), 0u);
  EXPECT_EQ(found.notes[2], "resuming from " + checkpoint_path(path, 4));
  EXPECT_EQ(found.from->step, 4);
}

TEST(Resume, goes_on_after_it) {
  const TemporaryFolder folder;
  TinyRun run = run_of_eight(folder, "dmt", "run");
  run.train();
  const std::string last = training_bytes_of(folder / "run");
  const std::string file = checkpoint_path(folder / "run", 8), bytes = read_bytes(file);
  write_bytes(file, bytes.substr(0, 1000));
  run.config().run.resume = "auto";
  run.train();
  EXPECT_TRUE(training_bytes_of(folder / "run") == last);

  for (int64_t step : {2, 4, 6, 8}) write_bytes(checkpoint_path(folder / "run", step), "");
  const std::string message = message_of([&] { run.train(); });
  EXPECT_EQ(message.rfind((folder / "run") + ": none of its 4 checkpoints is whole; the newest: " +
                              checkpoint_path(folder / "run", 8) + ": ",
                          0),
            0u)
      << message;
}

TEST(Resume, keeps_what_it_saves_before_damaged_newer_ones) {
  const TemporaryFolder folder;
  TinyRun run = run_of_eight(folder, "bptt", "run");
  run.train();
  for (int64_t step : {6, 8}) write_bytes(checkpoint_path(folder / "run", step), "damaged");
  run.config().run.keep = 1;
  run.config().run.resume = "auto";
  run.config().run.n_iters = 5;
  run.train();
  EXPECT_TRUE(fs::exists(checkpoint_path(folder / "run", 5)));
}

TEST(Resume, from_a_copy_beside_which_there_is_no_other) {
  const TemporaryFolder folder;
  TinyRun run = run_of_eight(folder, "bptt", "run");
  run.train();
  const std::string last = training_bytes_of(folder / "run");
  const std::string copy = folder / "run/checkpoints/mine.safetensors";
  fs::rename(checkpoint_path(folder / "run", 4), copy);
  forget_after(folder / "run", 0);
  run.config().run.resume = copy;
  run.train();
  EXPECT_TRUE(training_bytes_of(folder / "run") == last);
}

TEST(Resume, branches_off_another_run) {
  const TemporaryFolder folder;
  TinyRun run = run_of_eight(folder, "smt", "run"), branch = run_of_eight(folder, "smt", "branch");
  run.train();
  branch.config().run.resume = checkpoint_path(folder / "run", 4);
  branch.config().run.n_iters = 9;  // may change
  branch.config().run.log_every = 8;
  branch.config().run.threads = 1;
  branch.train();
  EXPECT_EQ(read_checkpoint(folder / "branch").step, 9);
  std::vector<int64_t> steps;
  for (const nlohmann::json& line : branch.log()) steps.push_back(line["step"]);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 3, 8, 9}));  // the first two are the other run's
  EXPECT_EQ(read_checkpoint(folder / "run").step, 8);

  run.config().run.resume = checkpoint_path(folder / "run", 4);
  EXPECT_EQ(message_of([&] { run.train(); }), (folder / "run") + ": holds newer checkpoints than " +
                                                  checkpoint_path(folder / "run", 4) + ", up to " +
                                                  checkpoint_path(folder / "run", 8) +
                                                  "; move them away, or choose another --save_dir");
}

TEST(Resume, errors) {
  const TemporaryFolder folder;
  TinyRun run = run_of_eight(folder, "smt", "run");
  run.train();
  const std::string path = checkpoint_path(folder / "run", 8), before = read_bytes(path);
  const TrainConfig good = run.config();
  run.config().run.resume = "auto";
  const auto train = [&] { run.train(); };
  run.config().optimizer.lr = 0.5;
  run.config().run.seed = 3;
  run.config().smt.gamma = 0.5;
  EXPECT_EQ(message_of(train), path +
                                   ": cannot go on with other settings: --seed: is 3, was 0; "
                                   "--lr: is 0.5, was 0.001; --smt.gamma: is 0.5, was 1.0");
  run.config() = good;
  run.config().run.resume = "auto";
  write_bytes(folder / "other.txt", std::string(5000, 'a'));
  run.config().run.dataset = "text:" + (folder / "other.txt");
  EXPECT_NE(message_of(train).find(path + ": cannot go on with other data: they were train "),
            std::string::npos);
  run.config() = good;
  run.config().run.resume = folder / "nowhere.safetensors";
  EXPECT_EQ(message_of(train),
            (folder / "nowhere.safetensors") + ": cannot open: No such file or directory");
  EXPECT_EQ(read_bytes(path), before);

  // Weights without moments start a run; they do not continue one.
  const Models models = load_models(folder / "run");
  write_checkpoint(path, good, 8, joined(models.rnn->parameters(), models.teacher->parameters()));
  run.config().run.resume = "auto";
  EXPECT_EQ(message_of(train),
            path +
                ": holds weights alone, without the moments and counters that going on needs; "
                "--load_rnn_path starts a new run from it");
  TinyRun bptt = run_of_eight(folder, "bptt", "run");
  bptt.config().run.resume = "auto";
  EXPECT_EQ(message_of([&] { bptt.train(); }),
            path + ": is of train_smt, which train_bptt cannot go on from");
}

}  // namespace
}  // namespace loopless::testing
