#include "train/metrics_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <nlohmann/json.hpp>

#include "tensor/error.h"
#include "tensor/file.h"

namespace loopless {
namespace {

/// The step of a line; -1 if it is no line of metrics.
int64_t step_of(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) return -1;
  return json["step"];
}

/// Bytes of the lines up to `last_step`, which come first.
int64_t size_up_to(int64_t last_step, const std::string& path) {
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  size_t begin = 0;
  for (int64_t number = 1; begin < text.size(); ++number) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;  // killed half-way
    const int64_t step = step_of(text.substr(begin, end - begin));
    CHECK(step >= 0 || end + 1 == text.size(), path, ": line ", number,
          " is no JSON object with a step; repair or remove it");
    if (step < 0 || step > last_step) break;
    begin = end + 1;
  }
  return static_cast<int64_t>(begin);
}

}  // namespace

MetricsFile::MetricsFile(std::string path, int64_t last_step) : path_(std::move(path)) {
  open();
  CHECK(descriptor_ >= 0, path_, ": cannot write: ", std::strerror(errno));
  size_ = size_up_to(last_step, path_);
  CHECK(::ftruncate(descriptor_, size_) == 0, path_, ": cannot write: ", std::strerror(errno));
}

MetricsFile::~MetricsFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void MetricsFile::open() {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

std::string MetricsFile::append(const std::string& line) {
  waiting_.push_back(line + '\n');
  return flush();
}

std::string MetricsFile::flush() {
  struct stat ours = {}, named = {};
  const bool is_there = ::stat(path_.c_str(), &named) == 0;
  const bool is_open = descriptor_ >= 0 && ::fstat(descriptor_, &ours) == 0;
  const bool is_ours = is_open && ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
  if (is_there && !is_ours) return path_ + ": cannot write: another file has taken its place";
  if (!is_there) {  // removed or moved, perhaps with its folder
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    std::error_code ignored;  // what is wrong, `open` says
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
    open();
    size_ = 0;
  }
  std::string all;
  for (const std::string& text : waiting_) all += text;
  if (descriptor_ < 0 || !write(all)) {
    return path_ + ": cannot write: " + std::strerror(errno);
  }
  waiting_.clear();
  return "";
}

bool MetricsFile::write(const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(descriptor_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int reason = errno;
      // Should this fail too, the file ends with a half line, which the next opening cuts off.
      [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, size_);
      errno = reason;
      return false;
    }
    done += static_cast<size_t>(count);
  }
  size_ += static_cast<int64_t>(text.size());
  return true;
}

void MetricsFile::sync() {
  if (!waiting_.empty()) flush();  // what is wrong has been said
  if (descriptor_ >= 0) ::fsync(descriptor_);
}

}  // namespace loopless
