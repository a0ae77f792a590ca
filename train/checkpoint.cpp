#include "train/checkpoint.h"

#include <charconv>
#include <cstdio>
#include <map>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "models/reference_names.h"
#include "tensor/safetensors.h"
#include "train/config_json.h"
#include "train/setting_values.h"

namespace loopless {
namespace {

using nlohmann::json;

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

constexpr std::string_view kMomentM = "adam.m.", kMomentV = "adam.v.";

/// CRC-32 over all of a checkpoint but its checksum: metadata and tensors in the order of names.
std::string checksum(const std::map<std::string, Tensor>& tensors, const Metadata& metadata) {
  unsigned long crc = 0;
  const auto add = [&](const void* data, size_t bytes) {
    crc = crc32_z(crc, static_cast<const Bytef*>(data), bytes);
  };
  for (const auto& [key, value] : metadata) {
    if (key == "checksum") continue;
    add(key.data(), key.size());
    add(value.data(), value.size());
  }
  for (const auto& [name, tensor] : tensors) {
    add(name.data(), name.size());
    add(tensor.raw(), static_cast<size_t>(tensor.bytes()));
  }
  char text[16];
  std::snprintf(text, sizeof text, "%08lx", crc);
  return text;
}

/// Of a file that states one.
void check_checksum(const SafetensorsFile& file, const std::string& path) {
  const auto it = file.metadata.find("checksum");
  CHECK(it == file.metadata.end() || it->second == checksum(file.tensors, file.metadata), path,
        ": is damaged: its contents do not have the checksum that it states");
}

json to_json(const Progress& progress) {
  const auto number = [](const std::optional<double>& x) { return x ? json(*x) : json(); };
  return {{"updates", progress.counts.updates},
          {"skipped", progress.counts.skipped},
          {"skipped_in_a_row", progress.counts.skipped_in_a_row},
          {"seconds", progress.seconds},
          {"test_loss", number(progress.test_loss)},
          {"best_test_loss", number(progress.best_test_loss)},
          {"best_step", progress.best_step},
          {"data", progress.data}};
}

Progress progress_from(const json& given, int64_t step) {
  const auto number = [&](const char* key) -> std::optional<double> {
    return given.at(key).is_null() ? std::nullopt : std::optional(given.at(key).get<double>());
  };
  return {.counts = {.steps = step,
                     .updates = given.at("updates"),
                     .skipped = given.at("skipped"),
                     .skipped_in_a_row = given.at("skipped_in_a_row")},
          .seconds = given.at("seconds"),
          .test_loss = number("test_loss"),
          .best_test_loss = number("best_test_loss"),
          .best_step = given.at("best_step"),
          .data = given.at("data")};
}

/// The value of a metadata entry as JSON, made into something by `convert`.
template <class Convert>
auto parse_json(const std::string& text, const char* what, const std::string& path,
                const Convert& convert) {
  try {
    return convert(json::parse(text));
  } catch (const json::exception&) {
    detail::throw_error(path, ": the ", what, " in its metadata is not what loopless writes");
  }
}

/// Where the weights of a flag came from: its path, and the file if that is another.
std::string loaded_text(const char* what, const std::string& given, const std::string& file) {
  const std::string text = std::string(what) + " weights: from " + file;
  return given == file ? text : text + ", which " + given + " stands for";
}

/// The model's settings must be those of the run that its weights are from: most do not show in
/// the shapes of parameters.
void check_same_model(const char* section, const TrainConfig& now, const LoadedWeights& loaded) {
  const json settings = to_json(now)[section], before = to_json(*loaded.config)[section];
  for (const auto& [name, value] : settings.items()) {
    CHECK(value == before[name], loaded.path, ": has --", section, ".", name, " ",
          join(words_of(before[name])), ", this run has ", join(words_of(value)));
  }
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

void write_checkpoint(const std::string& path, const TrainConfig& config, int64_t step,
                      const NamedParameters& parameters, const TrainingState* training) {
  NamedTensors tensors;
  for (const NamedParameter& parameter : parameters) {
    tensors.emplace_back(parameter.name, detach(*parameter.tensor));
  }
  Metadata metadata = {
      {"format", kFormat}, {"step", std::to_string(step)}, {"config", to_json(config).dump()}};
  if (training) {
    metadata["state"] = to_json(training->progress).dump();
    for (const Moments& moments : training->moments) {
      tensors.emplace_back(std::string(kMomentM) + moments.parameter, moments.m);
      tensors.emplace_back(std::string(kMomentV) + moments.parameter, moments.v);
    }
  }
  metadata["checksum"] = checksum({tensors.begin(), tensors.end()}, metadata);
  write_safetensors(path, tensors, metadata);
}

void check_checksum(const SafetensorsMap& file) {
  if (file.metadata().contains("checksum")) {
    check_checksum(read_safetensors(file.path()), file.path());
  }
}

Checkpoint read_checkpoint(const std::string& path) {
  Checkpoint checkpoint;
  checkpoint.path = checkpoint_file(path);
  const SafetensorsFile file = read_safetensors(checkpoint.path);
  const std::string& format = metadata_at(file, "format", checkpoint.path);
  CHECK(format == kFormat, checkpoint.path, ": its format is \"", format,
        "\", this version reads \"", kFormat, "\"");
  check_checksum(file, checkpoint.path);
  checkpoint.step = parse_step(metadata_at(file, "step", checkpoint.path), checkpoint.path);
  checkpoint.config =
      parse_json(metadata_at(file, "config", checkpoint.path), "configuration", checkpoint.path,
                 [&](const json& given) { return from_json(given, checkpoint.path); });
  if (file.metadata.contains("state")) {
    checkpoint.training.emplace().progress =
        parse_json(file.metadata.at("state"), "state", checkpoint.path,
                   [&](const json& given) { return progress_from(given, checkpoint.step); });
  }
  for (const auto& [name, tensor] : file.tensors) {
    if (name.starts_with(kMomentV)) continue;
    if (!name.starts_with(kMomentM)) {
      checkpoint.parameters.emplace_back(name, tensor);
    } else if (checkpoint.training) {
      const std::string parameter = name.substr(kMomentM.size());
      const auto v = file.tensors.find(std::string(kMomentV) + parameter);
      CHECK(v != file.tensors.end(), checkpoint.path, ": holds ", name, " without ", kMomentV,
            parameter);
      checkpoint.training->moments.push_back({parameter, tensor, v->second});
    }
  }
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

LoadedWeights load_weights(const NamedParameters& into, const std::string& path,
                           const std::function<void(const LoadedWeights&)>& check) {
  const std::string file_path = weights_file(path);
  const SafetensorsFile file = read_safetensors(file_path);
  CHECK(!into.empty(), file_path, ": no parameters were asked for");
  if (!file.tensors.contains(into.front().name) || !file.metadata.contains("format")) {
    load_parameters(into, from_reference(into, named(file), file_path), file_path);
    return {file_path, std::nullopt};
  }
  check_checksum(file, file_path);
  NamedTensors wanted;
  for (const NamedParameter& parameter : into) {
    const auto it = file.tensors.find(parameter.name);
    if (it != file.tensors.end()) wanted.push_back(*it);
  }
  const std::string& config = metadata_at(file, "config", file_path);
  LoadedWeights loaded{file_path,
                       parse_json(config, "configuration", file_path,
                                  [&](const json& given) { return from_json(given, file_path); })};
  if (check) check(loaded);
  load_parameters(into, wanted, file_path);
  return loaded;
}

std::vector<std::string> load_start(const TrainConfig& config, const NamedParameters& rnn,
                                    const NamedParameters& teacher) {
  std::vector<std::string> notes;
  const auto load = [&](const char* section, const char* what, const NamedParameters& into,
                        const std::optional<std::string>& path) {
    if (!path) return;
    // A difference of settings says more than the parameters that do not fit because of it.
    const LoadedWeights loaded = load_weights(
        into, *path, [&](const LoadedWeights& found) { check_same_model(section, config, found); });
    notes.push_back(loaded_text(what, *path, loaded.path));
  };
  if (!teacher.empty()) load("teacher", "teacher", teacher, config.run.load_teacher_path);
  load("rnn", "RNN", rnn, config.run.load_rnn_path);
  return notes;
}

}  // namespace loopless
