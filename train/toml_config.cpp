#include "train/toml_config.h"

#include "tensor/error.h"
#include "tensor/file.h"

namespace loopless {

std::vector<CLI::ConfigItem> TomlConfig::from_config(std::istream& input) const {
  const std::string file = app_.get_config_ptr()->as<std::string>();
  std::vector<CLI::ConfigItem> items;
  std::set<std::string> seen;
  for (CLI::ConfigItem& item : CLI::ConfigTOML::from_config(input)) {
    if (item.name == "++" || item.name == "--") continue;  // where tables begin and end
    const std::string key = item.fullname();
    const CLI::Option* option = app_.get_option_no_throw("--" + key);
    const std::string shown = printable(key);
    CHECK(option != nullptr && option->get_configurable(), file, ": ", shown,
          ": no such setting; --help lists them");
    CHECK(seen.insert(key).second, file, ": ", shown, ": is set twice");
    for (const std::string& value : item.inputs) {
      CHECK(value.find_first_of("\"'") == std::string::npos, file, ": ", shown, ": cannot read ",
            printable(value), "; texts are in quotes, on one line, without '#'");
    }
    if (option->empty()) keys_.insert(key);
    items.push_back({{}, key, item.inputs});
  }
  return items;
}

}  // namespace loopless
