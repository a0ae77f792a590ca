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

RunDirectory::RunDirectory(const std::string& path) : path_(without_slashes(path)) {}

RunDirectory RunDirectory::create(const std::string& path, bool overwrite) {
  RunDirectory run(path);
  create_folder(run.path_);
  const std::string contents[] = {run.config(), run.metrics(), run.checkpoints(), run.samples(),
                                  run.figures()};
  for (const std::string& item : contents) {
    // Empty folders are what a run that failed at its start leaves behind.
    if (!fs::exists(item) || fs::is_empty(item)) continue;
    CHECK(overwrite, run.path_,
          ": already holds a run; choose another --save_dir or pass --overwrite");
    std::error_code error;
    fs::remove_all(item, error);
    CHECK(!error, item, ": cannot remove: ", error.message());
  }
  create_folder(run.checkpoints());
  return run;
}

}  // namespace loopless
