/// The readers of files that may come from anywhere, and whole files to begin with.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace loopless::testing {

struct Reader {
  std::string name;
  std::vector<std::string> seeds;  // whole files
  size_t header = 0;               // bytes; most changes are made there
  /// Reads the file and looks at all that it gives. Throws Error if the file is refused.
  std::function<void(const std::string& path)> read;
  /// What is done to a changed file before it is read: compressing it, so that the changes are
  /// inside. Absent: nothing.
  std::function<std::string(const std::string& bytes)> wrap;
};

/// npy, safetensors, toml, idx, idx.gz, image.
std::vector<Reader> all_readers();

}  // namespace loopless::testing
