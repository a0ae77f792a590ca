/// metrics.jsonl: one JSON object a line, appended whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace loopless {

class MetricsFile {
 public:
  /// Opens or creates the file, and cuts off the lines of steps after `last_step`, and a last line
  /// that was never finished.
  /// Throws Error "PATH: cannot write: REASON", or if a line before the last is no JSON object
  /// with a "step".
  MetricsFile(std::string path, int64_t last_step);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  /// Appends a line. Where that is impossible (a full disk) the line waits for the next call, and
  /// the file ends as it did. A file that has been removed is made anew; nothing is written into one
  /// that has taken its place. Returns "" or what is wrong, "PATH: cannot write: REASON".
  std::string append(const std::string& line);
  /// Writes the lines that wait, and syncs the file with the disk.
  void sync();
  /// Lines that wait.
  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }

 private:
  void open();
  /// Writes what waits. Returns as `append` does.
  std::string flush();
  /// Whether all of `text` is in the file; if not, nothing of it is.
  bool write(const std::string& text);

  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;  // bytes of whole lines
  std::vector<std::string> waiting_;
};

}  // namespace loopless
