/// Where a run's numbers go: metrics.jsonl and the console.
///
///   metrics.jsonl   {"step":100,"loss":2.345,"lr":0.0003}      flushed line by line
///   console         step 100/1500  loss 2.345 nats  lr 0.0003
///
/// On a terminal a progress bar with the rate and the time left stays below the lines; a pipe or a
/// file gets the lines alone. While the run lasts, nothing else writes to the console.
#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "train/metrics_file.h"

namespace loopless {

/// The numbers of one log line, in the order in which they were added.
class Record {
 public:
  /// NaN and infinity are null in the file, and shown as they are.
  Record& add(const std::string& key, double value, const std::string& unit = "");
  Record& add(const std::string& key, int64_t value, const std::string& unit = "");
  /// None, which a method that has no such number says, is null in the file and not shown.
  Record& add(const std::string& key, std::optional<double> value, const std::string& unit = "");

  nlohmann::ordered_json json() const;
  /// "loss 2.345 nats  lr 0.0003": four significant digits.
  std::string text() const;

 private:
  struct Item {
    std::string key;
    nlohmann::json value;
    std::string unit;
  };
  std::vector<Item> items_;
};

/// "12 s", "3 min 05 s", "2 h 07 min".
std::string duration_text(double seconds);

class Metrics {
 public:
  /// Opens `path` for a run that has done `first_step` of `n_iters` steps: later lines are cut off.
  /// Throws Error as MetricsFile does.
  Metrics(const std::string& path, int64_t first_step, int64_t n_iters);
  /// The same with another console, which is a terminal or is not.
  Metrics(const std::string& path, int64_t first_step, int64_t n_iters, std::FILE* console,
          bool is_terminal);
  /// Removes the bar.
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// One log line, after `step` steps. Where the file cannot be written to the console says so, and
  /// the line waits for the next one.
  void log(int64_t step, const Record& record);
  /// Lines that could not be written.
  int64_t waiting() const { return file_.waiting(); }
  /// Writes the lines that wait and syncs the file with the disk, so that a checkpoint is never newer
  /// than its lines.
  void sync() { file_.sync(); }
  /// A line for the reader alone: what was saved, what was skipped.
  void say(const std::string& line);
  /// Redraws the bar, at most five times a second. Cheap enough for each step.
  void progress(int64_t step);

 private:
  using Clock = std::chrono::steady_clock;

  void print(const std::string& line);
  void erase_bar();
  void draw_bar();

  MetricsFile file_;
  int64_t first_step_;
  int64_t n_iters_;
  std::FILE* console_;
  bool is_terminal_;
  bool is_bar_drawn_ = false;
  int64_t step_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_drawn_{};
};

}  // namespace loopless
