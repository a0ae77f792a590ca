// tools/plot and tools/quickstart_summary on made-up results.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/tools/run_tool.h"

namespace loopless::testing {
namespace {

/// A folder with the runs smt, dmt and bptt and their evaluations, removed in the end.
class ResultTools : public ::testing::Test {
 protected:
  ResultTools() {
    for (const char* method : {"smt", "dmt", "bptt"}) {
      const std::string run = std::string(method) + "/";
      write(run + "config.json", "{\"method\": \"" + std::string(method) + "\"}");
      write(run + "metrics.jsonl",
            "{\"step\":1,\"loss\":5.0,\"test_loss\":null,\"seconds\":0.5}\n"
            "{\"step\":20,\"loss\":2.5,\"test_loss\":2.75,\"seconds\":12.25}\n");
      const std::string bits =
          "{\"bits\": 2.5, \"bits_first8\": 2.25, \"bits_last32\": 3.5, \"by_position\": [2, 3]}";
      const bool has_teacher = run != "bptt/";
      write(run + "evaluation.json", "{\"unigram\": 4.25, \"rnn\": " + bits +
                                         ", \"teacher\": " + (has_teacher ? bits : "null") +
                                         ", \"drift\": " + (has_teacher ? "[0, 0.5]" : "[]") + "}");
    }
  }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    write_bytes(folder_ / name, text);
  }
  std::string at(const std::string& name) const { return (folder_ / name); }

  void expect_png(const std::string& command) {
    const Outcome outcome = run_command("tools/plot " + command + " -o " + at("new/figure.png"));
    EXPECT_EQ(outcome.output, "");
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(read_bytes(folder_ / "new/figure.png").substr(0, 8), "\x89PNG\r\n\x1a\n");
    std::filesystem::remove_all(at("new"));
  }
  void expect_error(const std::string& command, int status, const std::string& message) {
    const Outcome outcome = run_command(command);
    EXPECT_EQ(outcome.output, message + "\n");
    EXPECT_EQ(outcome.status, status);
  }

  TemporaryFolder folder_;
};

TEST_F(ResultTools, plot_draws_png_files) {
  expect_png("loss " + at("smt") + " " + at("dmt") + " " + at("bptt"));
  expect_png("bits " + at("smt/evaluation.json") + " " + at("bptt/evaluation.json"));
  expect_png("drift " + at("smt/evaluation.json"));
}

TEST_F(ResultTools, plot_errors_are_one_line) {
  const std::string to_png = " -o " + at("x.png");
  expect_error("tools/plot loss " + at("nowhere") + to_png, 1,
               "plot: " + at("nowhere/metrics.jsonl") + ": cannot read: No such file or directory");
  write("smt/metrics.jsonl", "{\"step\":1,\"loss\":5.0}\n");
  expect_error("tools/plot loss " + at("smt") + to_png, 1,
               "plot: " + at("smt/metrics.jsonl") + ":1: lacks \"test_loss\"");
  expect_error("tools/plot bits " + at("dmt/config.json") + to_png, 1,
               "plot: " + at("dmt/config.json") + ": is no result of build/evaluate --json");
  expect_error("tools/plot drift " + at("bptt/evaluation.json") + to_png, 1,
               "plot: " + at("bptt/evaluation.json") +
                   ": has no drift: a run without a teacher (BPTT) has none");
  expect_error("tools/plot bits x.json", 2,
               "plot: the following arguments are required: -o/--output; tools/plot --help shows "
               "the usage");
}

TEST_F(ResultTools, summary_of_the_quickstart) {
  const Outcome outcome = run_command("tools/quickstart_summary " + folder_.path());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("RNN after SMT, then DMT             2.500     2.250     3.500"
                                "      20     12.2"),
            std::string::npos)
      << outcome.output;
  const std::string json = read_bytes(folder_ / "summary.json");
  EXPECT_EQ(json.find("{\n  \"unigram\": 4.25,\n  \"rows\": ["), 0u) << json;
  size_t last = 0;
  for (const char* name : {"teacher", "smt", "dmt", "bptt"}) {
    const size_t place = json.find("\"name\": \"" + std::string(name) + "\",\n      \"bits\": 2.5");
    ASSERT_NE(place, std::string::npos) << name << " in " << json;
    EXPECT_GT(place, last);
    last = place;
  }
  EXPECT_NE(json.find("\"seconds\": 12.25"), std::string::npos);

  std::filesystem::remove_all(at("dmt"));
  const Outcome failed = run_command("tools/quickstart_summary " + folder_.path());
  EXPECT_EQ(failed.status, 1);
  EXPECT_EQ(failed.output.find("quickstart_summary: " + folder_.path()), 0u) << failed.output;
}

}  // namespace
}  // namespace loopless::testing
