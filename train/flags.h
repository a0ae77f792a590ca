/// Command lines. Names and conventions are the reference implementation's: `--smt.Tc 64` or
/// `--smt.Tc=64`, `--adam_betas 0.9 0.95`, `None`, `True` and `False`.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include <CLI/CLI.hpp>

#include "tensor/error.h"
#include "train/config.h"
#include "train/setting_values.h"
#include "train/settings.h"

namespace loopless {

/// A command line that cannot be followed: `run_program` ends with exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The flags of a program: strict values, one line for each mistake, a grouped help.
class Flags {
 public:
  Flags(const std::string& program, const std::string& description);

  /// A flag that writes `value`, which now holds its default and outlives the parsing.
  template <class T>
  void add(const Setting& setting, T& value);
  /// add(name, range, unit, help, value), for the flags of one section.
  auto adder(const Section& section) {
    return [this, &section](const char* name, const Range& range, const char* unit,
                            const char* help, auto& value) {
      add({section, name, range, unit, help}, value);
    };
  }
  /// Whether parsing met the flag, on the command line or in a file.
  bool has(const std::string& flag) const { return app_.count("--" + flag) > 0; }
  /// Also `--config FILE`, a TOML file (train/toml_config.h). Flags go before it.
  void add_config_file();

  /// False if --help was asked for and has been printed.
  /// Throws UsageError "--smt.Tc: must be a whole number from 1 to 2147483647, got '12abc'".
  bool parse(int argc, const char* const* argv);

  std::string help() const { return app_.help(); }

 private:
  CLI::Option* add_option(const Setting& setting, const std::string& default_text,
                          const std::string& expected_text, CLI::callback_t read);
  /// "--smt.Tc", or "run.toml: smt.Tc" if the value is from a file.
  std::string place_of(const std::string& flag) const;

  CLI::App app_;
  std::set<std::string> keys_in_file_;
};

/// The flags of train_smt, train_dmt or train_bptt. None if --help was asked for and printed.
/// Throws UsageError for a flag that is unknown, has no valid value, or contradicts another.
std::optional<TrainConfig> parse_train_flags(const std::string& method, int argc,
                                             const char* const* argv);

/// Throws UsageError unless the value of --dataset has one of a data set's forms.
void check_dataset_flag(const std::string& spec);

/// The command line `argv` as one that continues the run: with --resume auto, without --overwrite.
/// Words are quoted for a shell.
std::string resume_command(int argc, const char* const* argv);

/// What every `main` is: runs `body`, prints what it throws as "program: message" to the error
/// output, and returns the exit status: what `body` returns, 1, or 2 for a UsageError.
int run_program(const char* program, const std::function<int()>& body);

template <class T>
void Flags::add(const Setting& setting, T& value) {
  CLI::Option* option = add_option(
      setting, join(words_of(json_of(value))), expected(setting.range, value),
      [this, setting, &value](const Words& words) {
        const auto most = static_cast<size_t>(std::max(1, word_count(value)));
        CHECK(words.size() <= most, place_of(setting.flag()),
              keys_in_file_.contains(setting.flag()) ? ": must be set once, to one value, got '"
                                                     : ": is given twice, got '",
              join(words), "'");
        read_words(place_of(setting.flag()), words, setting.range, value);
        return true;
      });
  if (word_count(value) > 0) {
    option->expected(word_count(value));
  } else {
    option->expected(0, 1)->default_str("True");  // what a flag without a value stands for
  }
}

}  // namespace loopless
