#include "train/config_json.h"

#include "tensor/file.h"
#include "train/setting_values.h"
#include "train/settings.h"

namespace loopless {
namespace {

using nlohmann::json;

/// The value of a key; throws if there is none.
const json& at(const json& object, const char* key, const std::string& where) {
  CHECK(object.is_object() && object.contains(key), where, ": the key is missing");
  return object[key];
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
  TrainConfig config;
  const json& method = at(given, "method", where + ": method");
  CHECK(method == "smt" || method == "dmt" || method == "bptt", where,
        ": method: must be \"smt\", \"dmt\" or \"bptt\", got ", method.dump());
  config.method = method;

  for_each_setting(config, [&](const Setting& setting, auto& value) {
    const std::string section = where + ": " + setting.section.key;
    const std::string place = section + "." + setting.name;
    read_json(place, at(at(given, setting.section.key, section), setting.name, place),
              setting.range, value);
  });

  // All keys that should be there are; whatever else is there is unknown.
  const json known = to_json(config);
  for (const auto& [section, settings] : given.items()) {
    CHECK(known.contains(section), where, ": ", section, ": the key is unknown");
    if (!settings.is_object()) continue;  // "method"
    for (const auto& [name, value] : settings.items()) {
      CHECK(known[section].contains(name), where, ": ", section, ".", name, ": the key is unknown");
    }
  }
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
