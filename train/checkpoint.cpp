#include "train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "models/reference_names.h"
#include "tensor/safetensors.h"
#include "train/config_json.h"

namespace loopless {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "loopless checkpoint 1";

const std::string& metadata_at(const SafetensorsFile& file, const char* key,
                               const std::string& path) {
  const auto it = file.metadata.find(key);
  CHECK(it != file.metadata.end(), path, ": is no checkpoint of loopless: its metadata lacks \"",
        key, "\"");
  return it->second;
}

int64_t parse_step(const std::string& text, const std::string& path) {
  int64_t step = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  CHECK(error == std::errc() && end == text.data() + text.size() && step >= 0, path,
        ": the step in its metadata must be a whole number, got \"", text, "\"");
  return step;
}

bool is_checkpoint_name(const std::string& name) {
  return name.starts_with("step_") && name.ends_with(".safetensors");
}

/// The file itself, or the newest checkpoint of a run directory (or of its checkpoints folder).
std::string checkpoint_file(const std::string& path) {
  if (!fs::is_directory(path)) return path;
  const fs::path inside = fs::path(path) / "checkpoints";
  const fs::path folder = fs::is_directory(inside) ? inside : fs::path(path);
  std::string newest;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    // Steps are written with leading zeros: the largest name is the newest checkpoint.
    const std::string name = entry.path().filename().string();
    if (is_checkpoint_name(name)) newest = std::max(newest, name);
  }
  CHECK(!newest.empty(), path, ": holds no checkpoint (step_*.safetensors)");
  return (folder / newest).string();
}

NamedTensors named(const SafetensorsFile& file) {
  return NamedTensors(file.tensors.begin(), file.tensors.end());
}

NamedParameters all_parameters(const Models& models) {
  NamedParameters list = models.rnn->parameters();
  if (!models.teacher) return list;
  const NamedParameters teacher = models.teacher->parameters();
  list.insert(list.end(), teacher.begin(), teacher.end());
  return list;
}

}  // namespace

std::string checkpoint_path(const std::string& run_directory, int64_t step) {
  char name[64];
  std::snprintf(name, sizeof name, "step_%08lld.safetensors", static_cast<long long>(step));
  return (fs::path(run_directory) / "checkpoints" / name).string();
}

void write_checkpoint(const std::string& path, const TrainConfig& config, int64_t step,
                      const NamedParameters& parameters) {
  NamedTensors tensors;
  for (const NamedParameter& parameter : parameters) {
    tensors.emplace_back(parameter.name, detach(*parameter.tensor));
  }
  write_safetensors(
      path, tensors,
      {{"format", kFormat}, {"step", std::to_string(step)}, {"config", to_json(config).dump()}});
}

Checkpoint read_checkpoint(const std::string& path) {
  Checkpoint checkpoint;
  checkpoint.path = checkpoint_file(path);
  const SafetensorsFile file = read_safetensors(checkpoint.path);
  const std::string& format = metadata_at(file, "format", checkpoint.path);
  CHECK(format == kFormat, checkpoint.path, ": its format is \"", format,
        "\", this version reads \"", kFormat, "\"");
  checkpoint.step = parse_step(metadata_at(file, "step", checkpoint.path), checkpoint.path);
  try {
    const auto json = nlohmann::json::parse(metadata_at(file, "config", checkpoint.path));
    checkpoint.config = from_json(json, checkpoint.path);
  } catch (const nlohmann::json::exception& error) {
    detail::throw_error(checkpoint.path, ": the configuration in its metadata is no JSON");
  }
  checkpoint.parameters = named(file);
  return checkpoint;
}

Models load_models(const std::string& path) {
  const Checkpoint checkpoint = read_checkpoint(path);
  Models models;
  models.config = checkpoint.config;
  models.step = checkpoint.step;
  models.rnn = std::make_unique<Rnn>(checkpoint.config.rnn, 0);
  if (checkpoint.config.method != "bptt") {
    models.teacher = std::make_unique<Teacher>(checkpoint.config.teacher, 0);
  }
  load_parameters(all_parameters(models), checkpoint.parameters, checkpoint.path);
  return models;
}

void load_weights(const NamedParameters& into, const std::string& path) {
  const std::string file_path = checkpoint_file(path);
  const SafetensorsFile file = read_safetensors(file_path);
  CHECK(!into.empty(), file_path, ": no parameters were asked for");
  if (!file.tensors.contains(into.front().name) || !file.metadata.contains("format")) {
    load_parameters(into, from_reference(into, named(file), file_path), file_path);
    return;
  }
  NamedTensors wanted;
  for (const NamedParameter& parameter : into) {
    const auto it = file.tensors.find(parameter.name);
    if (it != file.tensors.end()) wanted.push_back(*it);
  }
  load_parameters(into, wanted, file_path);
}

}  // namespace loopless
