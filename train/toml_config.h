/// Settings from a TOML file: `[smt]` and `Tc = 64` are the flag `--smt.Tc 64`.
///
/// Tables of one level and dotted keys, with numbers, true and false, texts without '#', and
/// arrays of numbers. There is no null in TOML: write "None".
#pragma once

#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace loopless {

/// Reads the file of `--config` for an app. Flags go before what the file says.
class TomlConfig : public CLI::ConfigTOML {
 public:
  /// `keys` receives the keys that the file sets and no flag does; it outlives this object.
  TomlConfig(const CLI::App& app, std::set<std::string>& keys) : app_(app), keys_(keys) {}

  /// One item a key, its name the flag's.
  /// Throws Error, naming file and key, if the app has no such flag, or the key is there twice.
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  const CLI::App& app_;
  std::set<std::string>& keys_;
};

}  // namespace loopless
