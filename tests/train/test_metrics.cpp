#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "tests/support/files.h"
#include "train/metrics.h"

namespace loopless {
namespace {

using testing::read_bytes;
using testing::TemporaryFolder;

/// A console whose text can be read back.
class Console {
 public:
  Console() : file_(std::tmpfile()) {}
  ~Console() { std::fclose(file_); }
  Console(const Console&) = delete;

  std::FILE* file() const { return file_; }
  std::string text() const {
    std::string result;
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) result += static_cast<char>(c);
    return result;
  }

 private:
  std::FILE* file_;
};

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Record, keeps_order_types_and_units) {
  Record record;
  record.add("loss", 2.34567, "nats").add("tokens", int64_t{12345678}).add("lr", 3e-4);
  EXPECT_EQ(record.json().dump(), R"({"loss":2.34567,"tokens":12345678,"lr":0.0003})");
  EXPECT_EQ(record.text(), "loss 2.346 nats  tokens 12345678  lr 0.0003");
}

TEST(Record, not_a_number_is_null_and_none_is_not_shown) {
  Record record;
  record.add("a", NAN).add("b", -INFINITY).add("c", std::nullopt).add("d", std::optional(1.5));
  EXPECT_EQ(record.json().dump(), R"({"a":null,"b":null,"c":null,"d":1.5})");
  EXPECT_EQ(record.text(), "a nan  b -inf  d 1.5");
}

TEST(Metrics, durations) {
  EXPECT_EQ(duration_text(0.2), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(185), "3 min 05 s");
  EXPECT_EQ(duration_text(7620), "2 h 07 min");
  EXPECT_EQ(duration_text(-1), "0 s");
  EXPECT_EQ(duration_text(INFINITY), "277777 h 46 min");
}

TEST(Metrics, a_pipe_gets_plain_lines) {
  const TemporaryFolder folder;
  const Console console;
  {
    Metrics metrics(folder / "metrics.jsonl", 0, 1500, console.file(), false);
    metrics.progress(50);
    metrics.log(100, Record().add("loss", 2.5, "nats"));
    // Flushed: a reader sees the line while the run goes on.
    EXPECT_EQ(read_bytes(folder / "metrics.jsonl"), "{\"step\":100,\"loss\":2.5}\n");
    metrics.say("saved a");
    metrics.log(200, Record().add("loss", NAN, "nats"));
  }
  EXPECT_EQ(read_bytes(folder / "metrics.jsonl"),
            "{\"step\":100,\"loss\":2.5}\n{\"step\":200,\"loss\":null}\n");
  EXPECT_EQ(console.text(),
            "step 100/1500  loss 2.5 nats\nsaved a\nstep 200/1500  loss nan nats\n");
}

TEST(Metrics, a_terminal_gets_a_bar_below_the_lines) {
  const TemporaryFolder folder;
  const Console console;
  {
    Metrics metrics(folder / "metrics.jsonl", 0, 200, console.file(), true);
    metrics.progress(100);
    metrics.log(100, Record().add("loss", 2.5));
  }
  const std::string text = console.text(), bar = "\r[============            ]  50 %  ";
  EXPECT_EQ(text.rfind(bar, 0), 0u) << text;
  EXPECT_NE(text.find(" steps/s  "), std::string::npos) << text;
  EXPECT_NE(text.find(" s left\033[K\r\033[Kstep 100/200  loss 2.5\n" + bar), std::string::npos)
      << text;
  // At the end the bar is gone.
  EXPECT_EQ(text.substr(text.size() - 4), "\r\033[K");
}

TEST(Metrics, the_bar_is_redrawn_five_times_a_second) {
  const TemporaryFolder folder;
  const Console console;
  Metrics metrics(folder / "metrics.jsonl", 0, 10'000, console.file(), true);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t step = 1; step <= 1000; ++step) metrics.progress(step);
  std::this_thread::sleep_for(std::chrono::milliseconds(210));
  metrics.progress(1001);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const int drawn = count(console.text(), "\r[");
  EXPECT_GE(drawn, 2);
  EXPECT_LE(drawn, 1 + seconds.count() / 0.2);
}

TEST(Metrics, errors) {
  const TemporaryFolder folder;
  try {
    Metrics metrics(folder / "no/metrics.jsonl", 0, 1);
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              (folder / "no/metrics.jsonl") + ": cannot write: No such file or directory");
  }
}

TEST(Metrics, says_that_a_line_waits) {
  const TemporaryFolder folder;
  const std::string run = folder / "run", path = run + "/metrics.jsonl";
  std::filesystem::create_directory(run);
  const Console console;
  Metrics metrics(path, 0, 3, console.file(), false);
  std::filesystem::remove_all(run);
  testing::write_bytes(run, "a file where the folder was");
  metrics.log(1, Record());
  metrics.log(2, Record());
  EXPECT_EQ(metrics.waiting(), 2);
  std::filesystem::remove(run);
  metrics.log(3, Record());
  EXPECT_EQ(metrics.waiting(), 0);
  EXPECT_EQ(testing::read_bytes(path), "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");
  EXPECT_EQ(console.text(), "step 1/3  \n" + path +
                                ": cannot write: Not a directory; the run goes on, its lines wait\n"
                                "step 2/3  \nstep 3/3  \nthe lines that waited are written\n");
}

}  // namespace
}  // namespace loopless
