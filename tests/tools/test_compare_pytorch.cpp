// tools/compare_pytorch.py: what it says with PyTorch and without, and of wrong calls.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"
#include "tests/tools/run_python.h"

namespace loopless::testing {
namespace {

/// Stands in for build/step: what it writes has a NaN for the last number.
constexpr const char* kBrokenStep = R"(#!/bin/sh
STEP "$@" || exit
for word; do
  case $word in --output=*)
    file=${word#--output=}
    printf '\377\377\377\177' |
      dd of="$file" bs=1 seek=$(($(wc -c <"$file") - 4)) conv=notrunc status=none ;;
  esac
done
)";

class ComparePytorch : public ::testing::Test {
 protected:
  Outcome compare(const std::string& flags) {
    return run_command(interpreter_ + " tools/compare_pytorch.py --threads 1 --step " + step_ +
                       " " + flags);
  }
  /// The line of an error, after the one that names the versions where PyTorch has been loaded.
  void expect_error(const std::string& flags, int status, const std::string& message) {
    const Outcome outcome = compare(flags);
    const size_t begin = outcome.output.find("compare_pytorch: ");
    ASSERT_NE(begin, std::string::npos) << outcome.output;
    EXPECT_EQ(outcome.output.substr(begin), "compare_pytorch: " + message + "\n");
    EXPECT_EQ(outcome.status, status);
  }

  TemporaryFolder folder_;
  std::string interpreter_ = kSystemPython;
  std::string step_ = build_folder() + "/step";
};

/// For these, a Python with PyTorch.
class ComparePytorchWithTorch : public ComparePytorch {
 protected:
  void SetUp() override {
    if (!has_python_module("torch")) GTEST_SKIP() << "torch is not importable by " << python();
    interpreter_ = python();
  }
};

TEST_F(ComparePytorch, without_torch_nothing_is_compared) {
  write_bytes(folder_ / "torch.py", "raise ImportError\n");
  interpreter_ = "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + folder_.path() + " " + kSystemPython;
  const Outcome outcome = compare("smt/tiny");
  EXPECT_EQ(outcome.output,
            "compare_pytorch: skipped: PyTorch is not importable (pip install torch)\n");
  EXPECT_EQ(outcome.status, 0);
}

TEST_F(ComparePytorch, usage_errors_are_one_line) {
  const std::string usage = "; --help shows the usage";
  for (const char* word : {"smt", "smt/huge", "rnn/tiny"}) {
    expect_error(word, 2,
                 "argument METHOD/SIZE: must be METHOD/SIZE, of smt, dmt, bptt and paper, demo, "
                 "quick, tiny, got '" +
                     std::string(word) + "'" + usage);
  }
  expect_error("--load run smt/tiny", 2, "--load goes without METHOD/SIZE" + usage);
  expect_error("--batch_size 0", 2,
               "argument --batch_size: must be a whole number of at least 1, got '0'" + usage);
  expect_error("--size=tiny", 2, "unrecognized arguments: --size=tiny" + usage);
}

TEST_F(ComparePytorchWithTorch, the_methods_agree) {
  const Outcome outcome = compare("smt/tiny dmt/tiny bptt/tiny --rounds 0");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  size_t place = 0;
  for (const char* line :
       {"smt/tiny, batch 3\n", "  loss       within ", "; limit 1e-05\n", "  gradients  within ",
        "; limit 1e-04\n", "  both agree\n", "dmt/tiny, batch 3\n", "  both agree\n",
        "bptt/tiny, batch 3\n", "  both agree\n"}) {
    place = outcome.output.find(line, place);
    ASSERT_NE(place, std::string::npos) << line << " in " << outcome.output;
  }
}

/// A run's own settings, and the table of times.
TEST_F(ComparePytorchWithTorch, a_run_is_compared_and_timed) {
  TinyRun run(folder_, "smt", "run");
  ::testing::internal::CaptureStdout();
  run.train();
  ::testing::internal::GetCapturedStdout();
  const Outcome outcome = compare("--rounds 1 --load " + (folder_ / "run"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  for (const char* line :
       {"/run, batch 8\n", "  both agree\n", "  1 steps in turns   best ms  median ms\n",
        "\n  loopless ", "\n  PyTorch  ", "\n  ratio  ", "\n  PyTorch's matrix products: "}) {
    EXPECT_NE(outcome.output.find(line), std::string::npos) << line << " in " << outcome.output;
  }
  EXPECT_EQ(outcome.output.find("reference scaled"), std::string::npos) << outcome.output;
}

TEST_F(ComparePytorchWithTorch, a_difference_is_found) {
  std::string script = kBrokenStep;
  script.replace(script.find("STEP"), 4, step_);
  write_bytes(folder_ / "step", script);
  std::filesystem::permissions(folder_ / "step", std::filesystem::perms::owner_all);
  step_ = folder_ / "step";
  const Outcome outcome = compare("bptt/tiny");
  EXPECT_NE(outcome.output.find("  gradients  within inf (rnn."), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("  THEY DO NOT AGREE\n"), std::string::npos);
  EXPECT_NE(outcome.output.find("compare_pytorch: losses or gradients do not agree\n"),
            std::string::npos);
  EXPECT_EQ(outcome.output.find("steps in turns"), std::string::npos);
  EXPECT_EQ(outcome.status, 1);
}

TEST_F(ComparePytorchWithTorch, errors_are_one_line) {
  expect_error("--load nowhere", 1, "step: nowhere: cannot open: No such file or directory");
  step_ = "nowhere/step";
  expect_error("smt/tiny", 1,
               "nowhere/step: cannot run: No such file or directory; make builds it");
}

}  // namespace
}  // namespace loopless::testing
