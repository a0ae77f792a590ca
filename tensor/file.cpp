#include "tensor/file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "tensor/error.h"

namespace loopless {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

/// Closes a file descriptor at the end of a scope.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return path.substr(0, std::max<size_t>(slash, 1));
}

}  // namespace

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  // Not blocking matters for pipes alone: opening one would wait for a writer.
  const Descriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  CHECK(file.number >= 0, path_, ": cannot open: ", reason(errno));
  struct stat status {};
  CHECK(::fstat(file.number, &status) == 0, path_, ": cannot open: ", reason(errno));
  CHECK(!S_ISDIR(status.st_mode), path_, ": cannot open: ", reason(EISDIR));
  CHECK(S_ISREG(status.st_mode), path_, ": cannot open: not a regular file");
  size_ = status.st_size;
  if (size_ == 0) return;  // nothing to map, and mmap refuses it
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  CHECK(address != MAP_FAILED, path_, ": cannot open: ", reason(errno));
  data_ = static_cast<std::byte*>(address);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), temporary_(path_ + ".tmp." + std::to_string(::getpid())) {
  // The rename would fail, too, but only after all that is to be written was made.
  struct stat status {};
  CHECK(::stat(path_.c_str(), &status) != 0 || !S_ISDIR(status.st_mode), path_,
        ": cannot write: ", reason(EISDIR));
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  CHECK(descriptor_ >= 0, path_, ": cannot write: ", reason(errno));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, int64_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    CHECK(written >= 0, path_, ": cannot write: ", reason(errno));
    next += written;
    bytes -= written;
  }
}

void AtomicFile::commit() {
  CHECK(::fsync(descriptor_) == 0, path_, ": cannot write: ", reason(errno));
  CHECK(std::rename(temporary_.c_str(), path_.c_str()) == 0, path_,
        ": cannot write: ", reason(errno));
  ::close(std::exchange(descriptor_, -1));
  // The new name is itself data of the folder. Some file systems cannot sync one, and say EINVAL.
  const Descriptor folder{::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  CHECK(folder.number >= 0 && (::fsync(folder.number) == 0 || errno == EINVAL), path_,
        ": cannot sync its folder: ", reason(errno));
}

std::string printable(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string result(text.substr(0, kLongest));
  for (char& c : result) c = c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kLongest ? result + "..." : result;
}

std::string one_line(std::string message) {
  constexpr size_t kLongest = 300;
  if (message.size() > kLongest) message = message.substr(0, kLongest) + "...";
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return message;
}

}  // namespace loopless
