#include "train/config_json.h"

#include "tensor/file.h"
#include "train/setting_values.h"
#include "train/settings.h"

namespace loopless {
namespace {

using nlohmann::json;

/// The value of a key, null if there is none.
const json* find(const json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

}  // namespace

json to_json(const TrainConfig& config) {
  json result = {{"method", config.method}};
  for_each_setting(config, [&](const Setting& setting, const auto& value) {
    result[setting.section.key][setting.name] = json_of(value);
  });
  return result;
}

TrainConfig from_json(const json& given, const std::string& where) {
  CHECK(given.is_object(), where, ": must be a JSON object, got ", given.type_name());
  const json method = given.value("method", json());
  CHECK(method == "smt" || method == "dmt" || method == "bptt", where,
        ": method: must be \"smt\", \"dmt\" or \"bptt\", got ", method.dump());
  TrainConfig config = default_config(method);

  const json known = to_json(config);
  for (const auto& [section, settings] : given.items()) {
    CHECK(known.contains(section), where, ": ", section, ": the key is unknown");
    if (section == "method") continue;
    CHECK(settings.is_object(), where, ": ", section, ": must be an object, got ", settings.dump());
    for (const auto& [name, value] : settings.items()) {
      CHECK(known[section].contains(name), where, ": ", section, ".", name, ": the key is unknown");
    }
  }
  for_each_setting(config, [&](const Setting& setting, auto& value) {
    const json* section = find(given, setting.section.key);
    const json* found = section ? find(*section, setting.name) : nullptr;
    if (!found) return;
    const std::string place = where + ": " + setting.section.key + "." + setting.name;
    read_json(place, *found, setting.range, value);
  });
  return config;
}

void write_config(const std::string& path, const TrainConfig& config) {
  AtomicFile file(path);
  file.write(to_json(config).dump(2) + "\n");
  file.commit();
}

TrainConfig read_config(const std::string& path) {
  const MappedFile file(path);
  const char* text = reinterpret_cast<const char*>(file.data());
  const json given = json::parse(text, text + file.size(), nullptr, /*allow_exceptions=*/false);
  CHECK(!given.is_discarded(), path, ": is not valid JSON");
  return from_json(given, path);
}

}  // namespace loopless
