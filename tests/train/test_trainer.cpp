#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tensor/storage.h"
#include "tests/support/files.h"
#include "tests/support/tiny_models.h"
#include "train/bptt.h"
#include "train/checkpoint.h"
#include "train/dmt.h"
#include "train/flags.h"
#include "train/smt.h"
#include "train/trainer.h"

namespace loopless::testing {
namespace {

using nlohmann::json;

constexpr int64_t kBatch = 8;
const char* const kMethods[] = {"smt", "dmt", "bptt"};

/// A small run of `method` on a text in `folder`, saved in folder/NAME.
class TinyRun {
 public:
  TinyRun(const TemporaryFolder& folder, const std::string& method, const std::string& name)
      : config_(default_config(method)) {
    std::string text;
    while (text.size() < 4000) text += "the quick brown fox " + std::to_string(text.size()) + "\n";
    write_bytes(folder / "text.txt", text);
    config_.run.dataset = "text:" + (folder / "text.txt");
    config_.run.save_dir = folder / name;
    config_.run.n_iters = 6;
    config_.run.log_every = 3;
    config_.run.test_windows = kBatch;
    config_.optimizer.batch_size = kBatch;
    config_.optimizer.lr = 1e-3;
    config_.smt = {.T = 16, .Tc = 12, .Tf = 4};
    config_.dmt = {.T = 20, .Td = 8, .Tc = 12, .Tf = 4, .k = 4};
    config_.bptt = {.T = 10};
    set_tiny_sizes(config_);
  }

  TrainConfig& config() { return config_; }

  TrainSummary train() const {
    Teacher teacher(config_.teacher, config_.run.seed);
    Rnn rnn(config_.rnn, config_.run.seed);
    NamedParameters saved = rnn.parameters();
    std::unique_ptr<Method> method;
    if (config_.method == "bptt") {
      method = std::make_unique<Bptt>(rnn, config_.bptt);
    } else {
      for (const NamedParameter& parameter : teacher.parameters()) saved.push_back(parameter);
      if (config_.method == "smt") method = std::make_unique<Smt>(teacher, rnn, config_.smt);
      if (config_.method == "dmt") method = std::make_unique<Dmt>(teacher, rnn, config_.dmt);
    }
    return loopless::train(config_, *method, saved);
  }

  std::vector<json> log() const {
    std::istringstream lines(read_bytes(config_.run.save_dir + "/metrics.jsonl"));
    std::vector<json> log;
    for (std::string line; std::getline(lines, line);) log.push_back(json::parse(line));
    return log;
  }

  std::string weights(int64_t step) const {
    std::string bytes;
    for (const auto& [name, x] :
         read_checkpoint(checkpoint_path(config_.run.save_dir, step)).parameters) {
      bytes.append(reinterpret_cast<const char*>(x.data()), x.bytes());
    }
    return bytes;
  }

 private:
  TrainConfig config_;
};

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

  TinyRun wild(folder, "smt", "wild");
  wild.config().optimizer.lr = 1e30;
  wild.config().run.n_iters = 20;
  const std::string message = message_of([&] { wild.train(); });
  EXPECT_NE(message.find("not a finite number; a lower --lr"), std::string::npos) << message;
}

}  // namespace
}  // namespace loopless::testing
