/// Running a tool as its users do.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <sys/wait.h>

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

}  // namespace loopless::testing
