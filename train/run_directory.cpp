#include "train/run_directory.h"

#include <filesystem>
#include <system_error>
#include <unistd.h>

#include "tensor/error.h"

namespace loopless {
namespace {

namespace fs = std::filesystem;

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

void create_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  CHECK(!error, path, ": cannot create the folder: ", error.message());
  CHECK(fs::is_directory(path), path, ": cannot create the folder: a file has that name");
  CHECK(::access(path.c_str(), W_OK | X_OK) == 0, path, ": the folder cannot be written to");
}

}  // namespace

RunDirectory::RunDirectory(const std::string& path) : path_(without_slashes(path)) {
  std::error_code error;
  if (!fs::exists(path_, error)) return;  // whatever keeps it from being looked at, `create` says
  create_folder(path_);
  lock_ = std::make_unique<RunLock>(path_);
}

bool RunDirectory::holds_run() const {
  // Empty folders are what a run that failed at its start leaves behind.
  for (const std::string& item : {config(), metrics(), checkpoints(), samples(), figures()}) {
    std::error_code error;
    if (fs::exists(item, error) && !fs::is_empty(item, error)) return true;
  }
  return false;
}

bool RunDirectory::has_config() const {
  std::error_code error;
  return fs::exists(config(), error);
}

void RunDirectory::create(bool overwrite) {
  create_folder(path_);
  if (!lock_) lock_ = std::make_unique<RunLock>(path_);
  CHECK(overwrite || !holds_run(), path_,
        ": already holds a run; --resume auto continues it, --overwrite replaces it, or choose "
        "another --save_dir");
  for (const std::string& item : {config(), metrics(), checkpoints(), samples(), figures()}) {
    std::error_code error;
    fs::remove_all(item, error);
    CHECK(!error, item, ": cannot remove: ", error.message());
  }
  create_folder(checkpoints());
}

void RunDirectory::ensure() {
  create_folder(path_);
  if (lock_ && !lock_->is_held()) lock_.reset();  // another process may have the folder now
  if (!lock_) lock_ = std::make_unique<RunLock>(path_);
  create_folder(checkpoints());
}

void RunDirectory::remove_unfinished() const {
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints())) {
    const std::string name = entry.path().filename().string();
    // The temporary names of AtomicFile.
    if (name.starts_with("step_") && name.find(".safetensors.tmp.") != std::string::npos) {
      std::error_code error;
      fs::remove(entry.path(), error);
    }
  }
}

}  // namespace loopless
