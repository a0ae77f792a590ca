#include "train/checkpoint_files.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "tensor/error.h"

namespace loopless {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step_", kSuffix = ".safetensors";

/// The step of "step_00001500.safetensors"; -1 for another name.
int64_t step_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return -1;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  int64_t step = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  return error == std::errc() && end == name.data() + name.size() ? step : -1;
}

bool is_pickle(const fs::path& path) {
  return path.extension() == ".pkl" || path.extension() == ".pt" || path.extension() == ".pth";
}

}  // namespace

std::string checkpoint_path(const std::string& run_directory, int64_t step) {
  char name[64];
  std::snprintf(name, sizeof name, "step_%08lld.safetensors", static_cast<long long>(step));
  return (fs::path(run_directory) / "checkpoints" / name).string();
}

std::vector<CheckpointFile> list_checkpoints(const std::string& folder) {
  const fs::path inside = fs::path(folder) / "checkpoints";
  std::vector<CheckpointFile> files;
  std::error_code error;
  const fs::directory_iterator entries(fs::is_directory(inside, error) ? inside : fs::path(folder),
                                       error);
  if (error) return files;
  for (const fs::directory_entry& entry : entries) {
    const int64_t step = step_of(entry.path().filename().string());
    if (step >= 0) files.push_back({entry.path().string(), step});
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  return files;
}

std::string checkpoint_file(const std::string& path) {
  if (!fs::is_directory(path)) return path;
  const std::vector<CheckpointFile> files = list_checkpoints(path);
  CHECK(!files.empty(), path, ": holds no checkpoint (step_*.safetensors)");
  return files.back().path;
}

std::string weights_file(const std::string& path) {
  if (!is_pickle(path) || fs::is_directory(path)) return checkpoint_file(path);
  const fs::path ours = fs::path(path).replace_extension(".safetensors");
  if (fs::is_regular_file(ours)) return ours.string();
  const fs::path folder = fs::path(path).parent_path();
  const std::vector<CheckpointFile> files = list_checkpoints(folder.empty() ? "." : folder);
  if (!files.empty()) return files.back().path;
  CHECK(!fs::exists(path), path,
        ": is a Python pickle, which is not read here; convert it with "
        "tools/convert_reference.py");
  detail::throw_error(path, ": there is no such file, no ", ours.filename().string(),
                      " beside it, and no run with checkpoints in its folder");
}

}  // namespace loopless
