/// Running a tool as its users do, and a folder for what it reads and writes.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace loopless::testing {

struct Outcome {
  int status = 0;      // exit status
  std::string output;  // both streams
};

/// Runs a shell command. Tests run in the root of the repository, as `make test` does.
inline Outcome run_command(const std::string& command) {
  std::FILE* pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
  Outcome outcome;
  char buffer[4096];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) {
    outcome.output.append(buffer, count);
  }
  outcome.status = WEXITSTATUS(pclose(pipe));
  return outcome;
}

/// The folder of the binaries: that of build/tests/test_tools, one up.
inline std::string build_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().string();
}

/// Removed in the end, with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    char path[] = "/tmp/loopless_XXXXXX";
    path_ = mkdtemp(path);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string at(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  /// Also makes the folders of the name.
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(at(name), std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

}  // namespace loopless::testing
