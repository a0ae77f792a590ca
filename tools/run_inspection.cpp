#include "tools/run_inspection.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "tensor/file.h"
#include "train/checkpoint.h"
#include "train/config_json.h"
#include "train/setting_values.h"
#include "train/settings.h"

namespace loopless {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "loopless checkpoint ";

/// The settings that are not their defaults, by the names of their flags.
Json settings_of(const TrainConfig& config) {
  const TrainConfig plain = default_config(config.method);
  Json defaults = Json::object(), changed = Json::object();
  for_each_setting(plain, [&](const Setting& setting, const auto& value) {
    defaults[setting.flag()] = json_of(value);
  });
  for_each_setting(config, [&](const Setting& setting, const auto& value) {
    const Json given = json_of(value);
    if (given != defaults[setting.flag()]) changed[setting.flag()] = given;
  });
  return changed;
}

Json parse(const std::string& text, const std::string& what) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  CHECK(!json.is_discarded(), what, " is no JSON");
  return json;
}

/// The fields of a checkpoint's metadata. Throws Error for the first that is not as it should be.
void read_head(const Metadata& metadata, const std::string& path, Json& head) {
  const auto at = [&](const char* key) -> const std::string& {
    const auto it = metadata.find(key);
    CHECK(it != metadata.end(), path, ": its metadata lacks \"", key, "\"");
    return it->second;
  };
  CHECK(at("format") == std::string(kFormat) + "1", path, ": its format is \"",
        printable(at("format")), "\", this version reads \"", kFormat, "1\"");
  const std::string& step = at("step");
  int64_t number = -1;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), number);
  CHECK(error == std::errc() && end == step.data() + step.size() && number >= 0, path,
        ": the step in its metadata must be a whole number, got \"", printable(step), "\"");
  head["step"] = number;
  const TrainConfig config =
      from_json(parse(at("config"), path + ": the configuration in its metadata"), path);
  head["method"] = config.method;
  head["settings"] = settings_of(config);
  if (metadata.contains("state")) {
    head["state"] = parse(metadata.at("state"), path + ": the state in its metadata");
  }
}

// --- a run's folder -----------------------------------------------------------------------------

std::string text_of(const std::string& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.data()), static_cast<size_t>(file.size())};
}

/// The result of `read`, or {"error": ...} if it throws.
template <class Read>
Json guarded(const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    return {{"error", error.what()}};
  }
}

Json inspect_config(const std::string& path) {
  const TrainConfig config = read_config(path);
  return {{"method", config.method}, {"settings", settings_of(config)}};
}

/// The test loss of a log line; none where it is null or not there.
std::optional<double> test_loss(const Json& line) {
  const auto it = line.find("test_loss");
  if (it == line.end() || !it->is_number()) return std::nullopt;
  return it->get<double>();
}

/// The lines of metrics.jsonl. The last one may be cut: a run that is writing it, or was killed.
std::vector<Json> read_metrics(const std::string& path, bool& is_cut) {
  const std::string text = text_of(path);
  std::vector<Json> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    is_cut = end == text.npos;
    if (is_cut) break;
    Json line = Json::parse(text.begin() + begin, text.begin() + end, nullptr, false);
    CHECK(line.is_object() && line.contains("step") && line["step"].is_number_integer(), path, ":",
          lines.size() + 1, ": is no log line; expected a JSON object with a step");
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

Json summary_of(const std::vector<Json>& lines, bool is_cut) {
  Json result = {{"lines", lines.size()}, {"is_last_line_cut", is_cut}};
  if (lines.empty()) return result;
  result["first"] = lines.front();
  result["last"] = lines.back();
  const Json* best = nullptr;
  for (const Json& line : lines) {
    if (test_loss(line) && (!best || *test_loss(line) < *test_loss(*best))) best = &line;
  }
  if (best) result["best"] = *best;
  return result;
}

Json inspect_checkpoint(const fs::path& path) {
  const SafetensorsMap file(path.string());
  check_checksum(file);
  Json head;
  read_head(file.metadata(), path.string(), head);
  const auto is_moment = [](const auto& entry) { return entry.name.starts_with("adam."); };
  const auto& entries = file.entries();
  const bool has_moments = std::any_of(entries.begin(), entries.end(), is_moment);
  return {{"step", head["step"]}, {"tensors", entries.size()}, {"has_moments", has_moments}};
}

/// Marks the newest whole checkpoint, and the one with the lowest test loss in the metrics.
void mark(Json& checkpoints, const std::vector<Json>& lines) {
  Json *newest = nullptr, *best = nullptr;
  double lowest = 0;
  for (Json& checkpoint : checkpoints) {
    checkpoint["is_newest"] = checkpoint["is_best"] = false;
    if (checkpoint.contains("error")) continue;
    if (!newest || checkpoint["step"] > (*newest)["step"]) newest = &checkpoint;
    for (const Json& line : lines) {
      if (line["step"] != checkpoint["step"] || !test_loss(line)) continue;
      checkpoint["test_loss"] = *test_loss(line);
      if (best && *test_loss(line) >= lowest) continue;
      best = &checkpoint;
      lowest = *test_loss(line);
    }
  }
  if (newest) (*newest)["is_newest"] = true;
  if (best) (*best)["is_best"] = true;
}

Json inspect_checkpoints(const fs::path& folder, const std::vector<Json>& lines, Json& leftovers) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors")) paths.push_back(entry.path());
    // A process that is killed while it writes leaves its temporary file.
    if (name.find(".safetensors.tmp.") != name.npos) leftovers.push_back(name);
  }
  CHECK(!error, folder.string(), ": cannot read the folder: ", error.message());
  std::sort(paths.begin(), paths.end());
  Json list = Json::array();
  for (const fs::path& path : paths) {
    Json row = {{"file", path.filename().string()}, {"bytes", fs::file_size(path, error)}};
    row.update(guarded([&] { return inspect_checkpoint(path); }));
    list.push_back(row);
  }
  mark(list, lines);
  return list;
}

}  // namespace

Json inspect_metadata(const Metadata& metadata, const std::string& path) {
  Json result = Json::object();
  const auto format = metadata.find("format");
  const bool is_checkpoint = format != metadata.end() && format->second.starts_with(kFormat);
  if (is_checkpoint) {
    result["kind"] = "checkpoint";
    try {
      read_head(metadata, path, result);
    } catch (const Error& error) {
      result["error"] = error.what();
    }
  }
  Json rest = Json::object();
  for (const auto& [key, value] : metadata) {
    const bool is_shown = is_checkpoint && !result.contains("error") &&
                          (key == "step" || key == "config" || key == "state");
    if (!is_shown) rest[key] = value;
  }
  result["metadata"] = rest;
  return result;
}

Json inspect_run(const std::string& path) {
  const fs::path folder(path), config = folder / "config.json", metrics = folder / "metrics.jsonl";
  const bool has_folder = fs::is_directory(folder / "checkpoints");
  Json result = {{"path", path}, {"kind", "run"}, {"config", nullptr}, {"metrics", nullptr}};
  if (fs::exists(config)) {
    result["config"] = guarded([&] { return inspect_config(config.string()); });
  }
  std::vector<Json> lines;
  if (fs::exists(metrics)) {
    result["metrics"] = guarded([&] {
      bool is_cut = false;
      lines = read_metrics(metrics.string(), is_cut);
      return summary_of(lines, is_cut);
    });
  }
  Json leftovers = Json::array();
  result["checkpoints"] =
      inspect_checkpoints(has_folder ? folder / "checkpoints" : folder, lines, leftovers);
  if (!leftovers.empty()) result["leftovers"] = leftovers;
  CHECK(has_folder || !result["config"].is_null() || !result["metrics"].is_null() ||
            !result["checkpoints"].empty(),
        path, ": holds no run: neither config.json, nor metrics.jsonl, nor checkpoints");
  return result;
}

}  // namespace loopless
