#include <csignal>
#include <filesystem>
#include <string>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "tests/support/files.h"
#include "train/metrics_file.h"

namespace loopless::testing {
namespace {

const std::string kLines = "{\"step\":1}\n{\"step\":5,\"loss\":2}\n{\"step\":10}\n";

class MetricsFiles : public ::testing::Test {
 protected:
  std::string path() const { return folder_ / "metrics.jsonl"; }
  /// What is left of `text` for a run that goes on after `step`.
  std::string cut(const std::string& text, int64_t step) {
    write_bytes(path(), text);
    { const MetricsFile file(path(), step); }
    return read_bytes(path());
  }

  TemporaryFolder folder_;
};

TEST_F(MetricsFiles, are_cut_back_to_the_step) {
  EXPECT_EQ(cut(kLines, 10), kLines);
  EXPECT_EQ(cut(kLines, 9), kLines.substr(0, kLines.find("{\"step\":10}")));
  EXPECT_EQ(cut(kLines, 4), "{\"step\":1}\n");
  EXPECT_EQ(cut(kLines, 0), "");
  EXPECT_EQ(cut("", 3), "");
}

TEST_F(MetricsFiles, lose_a_line_that_was_never_finished) {
  EXPECT_EQ(cut(kLines + "{\"step\":1", 20), kLines);
  EXPECT_EQ(cut(kLines + "{\"step\":11}", 20), kLines);
  EXPECT_EQ(cut(kLines + "{\"st\n", 20), kLines);
}

TEST_F(MetricsFiles, append_lines) {
  write_bytes(path(), kLines);
  MetricsFile file(path(), 5);
  EXPECT_EQ(file.append("{\"step\":6}"), "");
  EXPECT_EQ(read_bytes(path()), "{\"step\":1}\n{\"step\":5,\"loss\":2}\n{\"step\":6}\n");
}

/// The limit of a file's size stands in for a full disk: write(2) stops half-way in both.
TEST_F(MetricsFiles, keep_lines_that_cannot_be_written) {
  MetricsFile file(path(), 0);
  ASSERT_EQ(file.append("{\"step\":1}"), "");
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto former = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full = {.rlim_cur = 15, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  const std::string two = file.append("{\"step\":2}"), three = file.append("{\"step\":3}");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, former);
  EXPECT_EQ(two, path() + ": cannot write: File too large");
  EXPECT_EQ(three, two);
  EXPECT_EQ(file.waiting(), 2);
  EXPECT_EQ(read_bytes(path()), "{\"step\":1}\n");
  EXPECT_EQ(file.append("{\"step\":4}"), "");
  EXPECT_EQ(file.waiting(), 0);
  EXPECT_EQ(read_bytes(path()), "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"step\":4}\n");
}

TEST_F(MetricsFiles, are_made_anew_if_they_vanish) {
  const std::string inner = folder_ / "run/metrics.jsonl";
  std::filesystem::create_directories(folder_ / "run");
  MetricsFile file(inner, 0);
  ASSERT_EQ(file.append("{\"step\":1}"), "");
  std::filesystem::remove_all(folder_ / "run");
  EXPECT_EQ(file.append("{\"step\":2}"), "");
  EXPECT_EQ(read_bytes(inner), "{\"step\":2}\n");
}

TEST_F(MetricsFiles, leave_alone_what_has_taken_their_place) {
  const std::string inner = folder_ / "run/metrics.jsonl";
  std::filesystem::create_directories(folder_ / "run");
  MetricsFile file(inner, 0);
  write_bytes(inner, "another run's\n");
  EXPECT_EQ(file.append("{\"step\":2}"),
            inner + ": cannot write: another file has taken its place");
  EXPECT_EQ(read_bytes(inner), "another run's\n");
  std::filesystem::remove(inner);
  file.sync();
  EXPECT_EQ(file.waiting(), 0);
  EXPECT_EQ(read_bytes(inner), "{\"step\":2}\n");
}

TEST_F(MetricsFiles, errors) {
  const auto message = [&](const std::string& text) {
    try {
      cut(text, 20);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  EXPECT_EQ(message("{\"step\":1}\nx\n{\"step\":2}\n"),
            path() + ": line 2 is no JSON object with a step; repair or remove it");
  EXPECT_EQ(message("[1]\n" + kLines),
            path() + ": line 1 is no JSON object with a step; repair or remove it");
  EXPECT_EQ(message("{\"step\":\"1\"}\n" + kLines),
            path() + ": line 1 is no JSON object with a step; repair or remove it");
}

}  // namespace
}  // namespace loopless::testing
