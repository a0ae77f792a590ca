/// Values of settings as words of a command line and as JSON, read strictly.
///
/// A value is one word ("64", "True", "None") or two ("0.9 0.95"). What is not wholly the value,
/// or outside of its range, is refused: "12abc", "nan", "1.5" for a whole number.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tensor/error.h"
#include "train/settings.h"

namespace loopless {

using Words = std::vector<std::string>;

/// "0.9 0.95".
std::string join(const Words& words);

const char* name_of(LrSchedule schedule);
const char* name_of(DmtGrad grad);

// --- words to values ---------------------------------------------------------------------------

/// Whether `word` is a value in `range`, which is then written. True, False and None in any case.
bool parse_word(const std::string& word, const Range& range, uint64_t& value);
bool parse_word(const std::string& word, const Range& range, int64_t& value);
bool parse_word(const std::string& word, const Range& range, int& value);
bool parse_word(const std::string& word, const Range& range, double& value);
bool parse_word(const std::string& word, const Range& range, bool& value);
bool parse_word(const std::string& word, const Range& range, std::string& value);
bool parse_word(const std::string& word, const Range& range, LrSchedule& value);
bool parse_word(const std::string& word, const Range& range, DmtGrad& value);
bool is_none(const std::string& word);

template <class T>
bool parse_word(const std::string& word, const Range& range, std::optional<T>& value) {
  value.reset();
  return is_none(word) || parse_word(word, range, value.emplace());
}

template <class T>
bool parse_words(const Words& words, const Range& range, T& value) {
  return words.size() == 1 && parse_word(words[0], range, value);
}
inline bool parse_words(const Words& words, const Range& range, std::array<double, 2>& value) {
  return words.size() == 2 && parse_word(words[0], range, value[0]) &&
         parse_word(words[1], range, value[1]);
}

/// How many words must follow a flag: `--overwrite` alone is `--overwrite True`.
template <class T>
constexpr int word_count(const T&) {
  return 1;
}
constexpr int word_count(bool) { return 0; }
constexpr int word_count(const std::optional<bool>&) { return 0; }
constexpr int word_count(const std::array<double, 2>&) { return 2; }

/// What a value may be, in words.
template <class T>
std::string expected(const Range& range, const T&) {
  return range.text;
}
template <class T>
std::string expected(const Range& range, const std::optional<T>&) {
  return std::string(range.text) + " or None";
}

/// Reads the words into `value`.
/// Throws Error "`where`: must be a whole number from 1 to 2147483647, got '12abc'".
template <class T>
void read_words(const std::string& where, const Words& words, const Range& range, T& value) {
  CHECK(parse_words(words, range, value), where, ": must be ", expected(range, value), ", got '",
        join(words), "'");
}

// --- values to JSON and back -------------------------------------------------------------------

template <class T>
nlohmann::json json_of(const T& value) {
  return value;
}
inline nlohmann::json json_of(LrSchedule value) { return name_of(value); }
inline nlohmann::json json_of(DmtGrad value) { return name_of(value); }
template <class T>
nlohmann::json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : nlohmann::json();
}

/// The words that stand for a JSON value on a command line.
Words words_of(const nlohmann::json& value);

/// Reads a JSON value as `json_of` writes it. Throws Error like `read_words`.
template <class T>
void read_json(const std::string& where, const nlohmann::json& given, const Range& range,
               T& value) {
  // The comparison refuses what only looks right as words: "64" for 64, "None" for null.
  CHECK(parse_words(words_of(given), range, value) && json_of(value) == given, where, ": must be ",
        expected(range, value), ", got ", given.dump());
}

}  // namespace loopless
