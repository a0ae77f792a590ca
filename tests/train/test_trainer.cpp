#include <cmath>
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tensor/storage.h"
#include "tests/support/files.h"
#include "tests/support/tiny_run.h"

namespace loopless::testing {
namespace {

using nlohmann::json;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Trainer, writes_the_same_keys_for_every_method) {
  std::vector<std::vector<std::string>> keys;
  for (const char* method : kMethods) {
    const TemporaryFolder folder;
    const TinyRun run(folder, method, "run");
    EXPECT_EQ(run.train().steps, 6);
    const std::vector<json> log = run.log();
    ASSERT_EQ(log.size(), 3u) << method;  // steps 1, 3 and 6
    keys.emplace_back();
    for (const auto& [key, value] : log.back().items()) {
      if (!key.starts_with("loss_")) keys.back().push_back(key);
    }
    EXPECT_EQ(log[2]["step"], 6);
    EXPECT_GT(log[2]["matmul_share"], 0);
    EXPECT_TRUE(std::filesystem::exists(folder / "run/config.json"));
    EXPECT_EQ(load_models(folder / "run").step, 6);
  }
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(keys[0], keys[2]);
}

TEST(Trainer, equal_runs_are_equal_to_the_byte) {
  for (const char* method : kMethods) {
    const TemporaryFolder folder;
    const TinyRun one(folder, method, "one"), two(folder, method, "two");
    TinyRun other(folder, method, "other");
    other.config().run.seed = 1;
    one.train(), two.train(), other.train();
    EXPECT_EQ(one.weights(6), two.weights(6)) << method;
    EXPECT_NE(one.weights(6), other.weights(6)) << method;
  }
}

/// The loss terms and norms of a batch in four pieces are those of the batch in one; so is the
/// test loss over any number of windows. 1e-4: f32 sums in another order, through BPTT's steps.
TEST(Trainer, accumulation_changes_nothing) {
  for (const char* method : kMethods) {
    const TemporaryFolder folder;
    TinyRun whole(folder, method, "whole"), pieces(folder, method, "pieces");
    whole.config().smt.coef_unif = pieces.config().smt.coef_unif = 0;
    whole.config().run.n_iters = pieces.config().run.n_iters = 1;
    pieces.config().optimizer.grad_accum_steps = 4;
    whole.train(), pieces.train();
    const json a = whole.log()[0], b = pieces.log()[0];
    for (const auto& [key, value] : a.items()) {
      const bool is_compared =
          key.starts_with("loss") || key == "test_loss" || key.starts_with("grad_norm");
      if (!is_compared || key == "loss_unif" || value.is_null()) continue;
      EXPECT_NEAR(value.get<double>(), b[key].get<double>(), 1e-4 * std::abs(value.get<double>()))
          << method << ' ' << key;
    }
  }
}

/// More test windows than a batch are tested in pieces: the mean must not depend on their number.
/// Nothing is learnt, so that both runs test the initial weights.
TEST(Trainer, test_loss_is_a_mean_over_its_windows) {
  for (const char* method : kMethods) {
    const TemporaryFolder folder;
    TinyRun small(folder, method, "small"), large(folder, method, "large");
    for (TinyRun* run : {&small, &large}) {
      run->config().run.n_iters = 1;
      run->config().run.test_windows = 24;
      run->config().optimizer.lr = 0;
      run->config().smt.coef_unif = 0;
    }
    large.config().optimizer.batch_size = 24;
    small.train(), large.train();
    const double a = small.log()[0]["test_loss"], b = large.log()[0]["test_loss"];
    EXPECT_NEAR(a, b, 1e-4 * a) << method;
  }
}

TEST(Trainer, saves_along_the_way) {
  const TemporaryFolder folder;
  TinyRun run(folder, "smt", "run");
  run.config().run.ckpt_every = 2;
  run.train();
  for (int64_t step : {2, 4, 6}) {
    EXPECT_TRUE(std::filesystem::exists(checkpoint_path(folder / "run", step))) << step;
  }
  EXPECT_NE(run.weights(2), run.weights(4));
}

TEST(Trainer, ends_when_its_time_is_over) {
  const TemporaryFolder folder;
  TinyRun run(folder, "smt", "run");
  run.config().run.max_seconds = 1e-6;
  EXPECT_EQ(run.train().steps, 1);
  EXPECT_EQ(run.log().size(), 1u);
  EXPECT_EQ(load_models(folder / "run").step, 1);
}

TEST(Trainer, takes_no_memory_from_the_system_after_the_first_steps) {
  for (const char* method : kMethods) {
    const TemporaryFolder folder;
    TinyRun run(folder, method, "run");
    run.config().run.n_iters = 30;
    run.train();
    const std::vector<json> log = run.log();
    EXPECT_EQ(log.back()["system_allocations"], log[1]["system_allocations"]) << method;
  }
}

TEST(Trainer, errors) {
  const TemporaryFolder folder;
  TinyRun run(folder, "smt", "run");
  run.train();
  const std::string weights = run.weights(6);
  const auto train = [&] { run.train(); };
  EXPECT_NE(message_of(train).find("holds a run"), std::string::npos) << message_of(train);

  // Whatever makes a run impossible is found before an earlier run is overwritten.
  run.config().run.overwrite = true;
  run.config().smt = {.T = 900, .Tc = 800, .Tf = 100};
  EXPECT_NE(message_of(train), "nothing thrown");
  run.config().run.dataset = "text:" + (folder / "nothing.txt");
  EXPECT_NE(message_of(train), "nothing thrown");
  EXPECT_EQ(run.weights(6), weights);
}

/// Poisons the gradient of one parameter in the steps that `is_bad` names.
auto poison(const std::string& name, const std::function<bool(int64_t)>& is_bad) {
  return [=](const TinyRun::Inside& inside) {
    if (!is_bad(inside.step)) return;
    for (const NamedParameter& parameter : inside.parameters) {
      if (parameter.name == name) grad_of(*parameter.tensor).data()[1] = NAN;
    }
  };
}

/// A step that is not finite leaves weights and moments as they are, to the byte, whatever it is
/// that comes before and after.
TEST(Trainer, skips_a_step_that_is_not_finite) {
  for (const char* method : kMethods) {
    const TemporaryFolder folder;
    TinyRun run(folder, method, "run");
    run.config().run.n_iters = 4;
    run.config().run.ckpt_every = 1;
    run.config().run.keep.reset();
    ::testing::internal::CaptureStdout();
    run.train(
        poison("rnn.cell.layer0.attention.out.weight", [](int64_t step) { return step == 2; }));
    const std::string output = ::testing::internal::GetCapturedStdout();
    EXPECT_NE(output.find("step 3 skipped: the gradient of rnn.cell.layer0.attention.out.weight "
                          "holds 1 values that are not finite numbers (1 skipped so far, 1 in a "
                          "row)\n"),
              std::string::npos)
        << output;
    EXPECT_EQ(run.weights(2), run.weights(3)) << method;
    EXPECT_NE(run.weights(3), run.weights(4)) << method;
    const Checkpoint two = read_checkpoint(checkpoint_path(folder / "run", 2));
    const Checkpoint three = read_checkpoint(checkpoint_path(folder / "run", 3));
    ASSERT_GT(two.training->moments.size(), 5u);
    for (size_t i = 0; i < two.training->moments.size(); ++i) {
      EXPECT_EQ(two.training->moments[i].m.to_vector(), three.training->moments[i].m.to_vector());
      EXPECT_EQ(two.training->moments[i].v.to_vector(), three.training->moments[i].v.to_vector());
    }
    EXPECT_EQ(three.training->progress.counts.updates, 2);
    EXPECT_EQ(three.training->progress.counts.skipped, 1);
    EXPECT_EQ(run.log().back()["skipped_steps"], 1);
  }
}

TEST(Trainer, ends_after_ten_skipped_steps_in_a_row) {
  const TemporaryFolder folder;
  TinyRun run(folder, "smt", "run");
  run.config().run.n_iters = 100;
  const auto bad = [](int64_t step) { return step == 3 || step >= 5; };
  EXPECT_EQ(
      message_of([&] { run.train(poison("teacher.embed.weight", bad)); }),
      "step 15: 10 steps in a row were skipped; the gradient of teacher.embed.weight holds 1 "
      "values that are not finite numbers; in a new run, a lower --lr or another --seed may help");
  // The weights of the last good step are saved.
  const Checkpoint last = read_checkpoint(folder / "run");
  EXPECT_EQ(last.step, 15);
  EXPECT_EQ(last.training->progress.counts.updates, 4);
}

TEST(Trainer, weights_that_are_not_finite_are_not_saved) {
  const TemporaryFolder folder;
  TinyRun run(folder, "bptt", "run");
  run.config().run.n_iters = 100;
  run.config().run.ckpt_every = 1;
  run.config().run.keep.reset();
  const auto spoil = [](const TinyRun::Inside& inside) {
    if (inside.step == 4) inside.parameters[0].tensor->data()[0] = INFINITY;
  };
  const std::string message = message_of([&] { run.train(spoil); });
  EXPECT_NE(message.find("the parameter rnn.embed.weight holds 1 values that are not finite"),
            std::string::npos)
      << message;
  EXPECT_EQ(read_checkpoint(folder / "run").step, 4);
}

TEST(Trainer, keeps_the_newest_checkpoints_and_the_best) {
  const TemporaryFolder folder;
  TinyRun run(folder, "smt", "run");
  run.config().run.n_iters = 12;
  run.config().run.ckpt_every = 1;
  run.config().run.keep = 2;
  run.config().run.log_every = 1;
  run.config().optimizer.lr = 0.3;  // the test loss falls, then rises
  run.train();
  double best = INFINITY;
  int64_t best_step = 0;
  for (const json& line : run.log()) {
    if (line["test_loss"] < best) best = line["test_loss"], best_step = line["step"];
  }
  std::vector<int64_t> steps;
  for (const CheckpointFile& file : list_checkpoints(folder / "run")) steps.push_back(file.step);
  ASSERT_LT(best_step, 11);
  EXPECT_EQ(steps, (std::vector<int64_t>{best_step, 11, 12}));
  EXPECT_EQ(read_checkpoint(folder / "run").training->progress.best_test_loss, best);
}

/// What cannot be written on the way is said, and the run goes on; so does one whose folder
/// vanishes.
TEST(Trainer, goes_on_where_nothing_can_be_written) {
  const TemporaryFolder folder;
  TinyRun run(folder, "smt", "run");
  run.config().run.n_iters = 9;
  run.config().run.ckpt_every = 2;
  run.config().run.log_every = 1;
  namespace fs = std::filesystem;
  const auto obstruct = [&](const TinyRun::Inside& inside) {
    const std::string checkpoints = folder / "run/checkpoints";
    if (inside.step == 2) {
      fs::rename(checkpoints, folder / "elsewhere");
      write_bytes(checkpoints, "a file");
    } else if (inside.step == 5) {
      fs::remove(checkpoints);
      fs::rename(folder / "elsewhere", checkpoints);
    } else if (inside.step == 7) {
      fs::remove_all(folder / "run");
    }
  };
  ::testing::internal::CaptureStdout();
  run.train(obstruct);
  const std::string output = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(output.find("step 4 is not saved: " + (folder / "run/checkpoints") + ": cannot create"),
            std::string::npos)
      << output;
  EXPECT_EQ(read_checkpoint(folder / "run").step, 9);
  EXPECT_TRUE(fs::exists(folder / "run/config.json"));
  EXPECT_EQ(run.log().front()["step"], 8);
  EXPECT_EQ(run.log().size(), 2u);
}

TEST(Trainer, says_that_its_end_could_not_be_saved) {
  const TemporaryFolder folder;
  TinyRun run(folder, "smt", "run");
  run.config().run.ckpt_every = 2;
  const std::string message = message_of([&] {
    run.train([&](const TinyRun::Inside& inside) {
      if (inside.step != 2) return;
      std::filesystem::rename(folder / "run/checkpoints", folder / "run/kept");
      write_bytes(folder / "run/checkpoints", "a file");
    });
  });
  EXPECT_EQ(message, "step 6 could not be saved: " + (folder / "run/checkpoints") +
                         ": cannot create the folder: Not a directory; the newest checkpoint "
                         "is of step 2");
  EXPECT_EQ(read_checkpoint(folder / "run/kept").step, 2);
}

TEST(Trainer, a_dry_run_writes_nothing) {
  for (const char* method : kMethods) {
    const TemporaryFolder folder;
    TinyRun run(folder, method, "run");
    run.config().run.dry_run = true;
    ::testing::internal::CaptureStdout();
    run.train();
    const std::string output = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(folder.file_count(), 1);  // the text
    int64_t all = count_elements(tiny_models(method, 12).rnn->parameters());
    if (std::string(method) != "bptt") {
      all += count_elements(tiny_models(method, 12).teacher->parameters());
    }
    for (const std::string& part :
         {std::string("windows of "), std::string("rnn.cell "), std::to_string(all) + ", of which ",
          std::string("MiB in a step, with 8 windows"), std::string("GFLOP of matrix products"),
          std::string("run: 6 steps, about ")}) {
      EXPECT_NE(output.find(part), std::string::npos) << method << ": " << part << "\n" << output;
    }
  }
}

}  // namespace
}  // namespace loopless::testing
