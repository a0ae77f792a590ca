#include "train/run_lock.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/error.h"
#include "tensor/file.h"

namespace loopless {
namespace {

/// "1234 on node7": what a lock says of its holder.
std::string this_process() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return std::to_string(::getpid()) + " on " + host;
}

std::string holder_of(int descriptor) {
  char text[300];
  const ssize_t count = ::pread(descriptor, text, sizeof text, 0);
  return printable({text, static_cast<size_t>(std::max<ssize_t>(count, 0))});
}

bool is_same_file(int descriptor, const std::string& path) {
  struct stat open = {}, named = {};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

}  // namespace

RunLock::RunLock(const std::string& folder) : path_(folder + "/lock") {
  // Again, if the holder before removed the file between our opening and locking it.
  do {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    CHECK(descriptor_ >= 0, folder, ": the folder cannot be written to: ", std::strerror(errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const std::string holder = holder_of(descriptor_);
      ::close(descriptor_);
      CHECK(error == EWOULDBLOCK, path_, ": cannot lock: ", std::strerror(error));
      detail::throw_error(folder, ": is in use by process ", holder,
                          "; wait for its end, or choose another --save_dir");
    }
  } while (!is_same_file(descriptor_, path_));
  const std::string text = this_process();
  // What it says is for messages alone.
  if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, text.data(), text.size(), 0) < 0) {
    errno = 0;
  }
}

bool RunLock::is_held() const { return is_same_file(descriptor_, path_); }

RunLock::~RunLock() {
  if (is_held()) ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace loopless
