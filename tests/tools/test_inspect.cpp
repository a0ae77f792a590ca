// build/inspect on what this repository writes, and on what it does not.
#include <cmath>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tensor/npy.h"
#include "tests/support/tiny_run.h"
#include "tests/tools/run_tool.h"

namespace loopless::testing {
namespace {

using nlohmann::json;

Outcome inspect(const std::string& words) {
  return run_command(build_folder() + "/inspect " + words);
}

TEST(Inspect, a_run_and_its_checkpoints) {
  const TemporaryFolder folder;
  TinyRun run(folder, "smt", "run");
  run.config().run.ckpt_every = 2;
  ::testing::internal::CaptureStdout();
  run.train();
  ::testing::internal::GetCapturedStdout();
  write_bytes(checkpoint_path(folder / "run", 2), "broken");

  const Outcome whole = inspect(folder / "run");
  EXPECT_EQ(whole.status, 1);  // something in it is broken
  for (const char* part : {"run of smt", "metrics: 3 lines", "step_00000006.safetensors",
                           "newest, best", "step_00000002.safetensors"}) {
    EXPECT_NE(whole.output.find(part), std::string::npos) << part << "\n" << whole.output;
  }
  const std::string file = checkpoint_path(folder / "run", 6);
  const Outcome one = inspect(file);
  EXPECT_NE(one.output.find("checkpoint of smt, step 6, "), std::string::npos) << one.output;
  EXPECT_NE(one.output.find("rnn.cell.layer0.attention.qkv.weight"), std::string::npos);
  EXPECT_EQ(one.output.find("adam.m.rnn.embed.weight"), std::string::npos);
  EXPECT_NE(inspect("--all " + file).output.find("adam.m.rnn.embed.weight"), std::string::npos);
  EXPECT_TRUE(json::accept(inspect("--json " + file).output));
  EXPECT_TRUE(json::accept(inspect("--json " + (folder / "run")).output));
}

TEST(Inspect, arrays) {
  const TemporaryFolder folder;
  write_npy(folder / "a.npy", Tensor::from<float>({2, 2}, {1, -3, NAN, INFINITY}));
  const Outcome outcome = inspect("--json " + (folder / "a.npy"));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(json::accept(outcome.output)) << outcome.output;
  const Outcome text = inspect(folder / "a.npy");
  EXPECT_NE(text.output.find("[2, 2]"), std::string::npos) << text.output;
}

TEST(Inspect, errors) {
  const TemporaryFolder folder;
  EXPECT_EQ(inspect("").status, 2);
  EXPECT_EQ(inspect("--nothing a").status, 2);
  const Outcome missing = inspect(folder / "nothing");
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.output.find(folder / "nothing"), std::string::npos);
  write_bytes(folder / "a.npy", "no array");
  EXPECT_EQ(inspect(folder / "a.npy").status, 1);
  write_bytes(folder / "a.safetensors", "short");
  EXPECT_EQ(inspect(folder / "a.safetensors").status, 1);
}

}  // namespace
}  // namespace loopless::testing
