// tools/to_tensorboard.py on made-up runs, read back event by event.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/tools/run_python.h"

namespace loopless::testing {
namespace {

constexpr const char* kEventFile = "/events.out.tfevents.loopless";

/// Prints the scalars of an event file: records of length (8 bytes), its checksum (4), an event,
/// and the event's checksum (4).
constexpr const char* kReadBack = R"(
import sys
try:
    from tensorboardX.proto.event_pb2 import Event
except ImportError:
    from tensorboard.compat.proto.event_pb2 import Event
data = open(sys.argv[1], "rb").read()
while data:
    length = int.from_bytes(data[:8], "little")
    event = Event.FromString(data[12:12 + length])
    data = data[16 + length:]
    for v in event.summary.value:
        print(v.tag, event.step, v.simple_value, event.wall_time)
)";

class ToTensorboard : public ::testing::Test {
 protected:
  ToTensorboard() {
    write("run/metrics.jsonl",
          "{\"step\":1,\"loss\":5.0,\"test_loss\":null,\"seconds\":0.5}\n"
          "{\"step\":20,\"loss\":2.5,\"test_loss\":2.75}\n");
    write("run/evaluation.json",
          "{\"unigram\": 4.25, \"rnn\": {\"by_position\": [2, 3]}, \"teacher\": null, "
          "\"drift\": [0.5]}");
    write("hidden/torch.py", "raise ImportError\n");
    write("hidden/tensorboardX.py", "raise ImportError\n");
  }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    write_bytes(folder_ / name, text);
  }
  std::string at(const std::string& name) const { return folder_ / name; }
  /// In the folder, so that runs have the short names that they have for a user.
  Outcome run(const std::string& interpreter, const std::string& flags) {
    const std::string tool = std::filesystem::absolute("tools/to_tensorboard.py");
    return run_command("cd " + folder_.path() + " && " + interpreter + " " + tool + " " + flags);
  }
  /// Where nothing can write event files.
  void expect_error(const std::string& flags, int status, const std::string& message) {
    const Outcome outcome =
        run("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=hidden " + kSystemPython, flags);
    EXPECT_EQ(outcome.output, "to_tensorboard: " + message + "\n");
    EXPECT_EQ(outcome.status, status);
    EXPECT_FALSE(std::filesystem::exists(at("logs")));
  }

  TemporaryFolder folder_;
};

TEST_F(ToTensorboard, says_what_to_install) {
  expect_error("run -o logs", 1,
               "neither tensorboardX nor torch.utils.tensorboard is importable (pip install "
               "tensorboardX)");
}

TEST_F(ToTensorboard, errors_are_one_line) {
  expect_error("run", 2,
               "the following arguments are required: -o/--output; --help shows the usage");
  expect_error("run nowhere -o logs", 1,
               "nowhere: is no folder; a run is the folder that training wrote");
  write("bad/metrics.jsonl", "{\"step\":1}\n5\n");
  expect_error("bad -o logs", 1, "bad/metrics.jsonl:2: must be a JSON object");
  write("run/evaluation.json", "{}");
  expect_error("run -o logs", 1, "run/evaluation.json: is no result of build/evaluate --json");
}

TEST_F(ToTensorboard, a_second_call_replaces_the_first_ones_points) {
  const bool has_torchs = has_python_module("torch") && has_python_module("tensorboard");
  if (!has_python_module("tensorboardX") && !has_torchs) {
    GTEST_SKIP() << "no writer of event files is importable by " << python();
  }
  const std::string file = std::string("logs/run") + kEventFile;
  Outcome outcome = run(python(), "run " + at("run") + " -o logs");
  EXPECT_EQ(outcome.output, file + ": 7 points of 5 scalars\n");
  EXPECT_EQ(outcome.status, 0);
  outcome = run(python(), "run -o logs");
  EXPECT_EQ(outcome.output, file + ": 7 points of 5 scalars; replaced an older file\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(at("logs/run")), {}), 1);

  write("read_back.py", kReadBack);
  EXPECT_EQ(run_command(python() + " " + at("read_back.py") + " " + at(file)).output,
            "loss 1 5.0 0.5\n"
            "seconds 1 0.5 0.5\n"
            "loss 20 2.5 0.0\n"
            "test_loss 20 2.75 0.0\n"
            "evaluation/drift 0 0.5 0.0\n"
            "evaluation/bits_rnn 1 2.0 0.0\n"
            "evaluation/bits_rnn 2 3.0 0.0\n");
}

}  // namespace
}  // namespace loopless::testing
