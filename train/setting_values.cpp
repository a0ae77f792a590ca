#include "train/setting_values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <utility>

namespace loopless {
namespace {

bool in_range(double value, const Range& range) {
  const bool above = range.is_open_low ? value > range.low : value >= range.low;
  const bool below = range.is_open_high ? value < range.high : value <= range.high;
  return above && below;  // false for NaN
}

/// The whole word as a number, in the C locale.
template <class T>
bool parse_number(const std::string& word, const Range& range, T& value) {
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  return error == std::errc() && stop == end && in_range(static_cast<double>(value), range);
}

std::string lower(std::string word) {
  for (char& letter : word)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return word;
}

constexpr std::pair<const char*, LrSchedule> kScheduleNames[] = {
    {"constant", LrSchedule::kConstant},
    {"warmup_constant", LrSchedule::kWarmupConstant},
    {"warmup_cosine", LrSchedule::kWarmupCosine}};
constexpr std::pair<const char*, DmtGrad> kGradNames[] = {{"detach", DmtGrad::kDetach},
                                                          {"full_bptt", DmtGrad::kFullBptt}};

template <class Names, class T>
bool parse_name(const Names& names, const std::string& word, T& value) {
  const auto found = std::find_if(std::begin(names), std::end(names),
                                  [&](const auto& entry) { return word == entry.first; });
  if (found == std::end(names)) return false;
  value = found->second;
  return true;
}

template <class Names, class T>
const char* find_name(const Names& names, T value) {
  return std::find_if(std::begin(names), std::end(names),
                      [&](const auto& entry) { return value == entry.second; })
      ->first;
}

}  // namespace

std::string join(const Words& words) {
  std::string result;
  for (size_t i = 0; i < words.size(); ++i) result += (i ? " " : "") + words[i];
  return result;
}

const char* name_of(LrSchedule schedule) { return find_name(kScheduleNames, schedule); }
const char* name_of(DmtGrad grad) { return find_name(kGradNames, grad); }

bool parse_word(const std::string& word, const Range& range, uint64_t& value) {
  return parse_number(word, range, value);
}
bool parse_word(const std::string& word, const Range& range, int64_t& value) {
  return parse_number(word, range, value);
}
bool parse_word(const std::string& word, const Range& range, int& value) {
  return parse_number(word, range, value);
}
bool parse_word(const std::string& word, const Range& range, double& value) {
  return parse_number(word, range, value);
}
bool parse_word(const std::string& word, const Range&, bool& value) {
  value = lower(word) == "true";
  return value || lower(word) == "false";
}
bool parse_word(const std::string& word, const Range&, std::string& value) {
  value = word;
  return !word.empty() && word.rfind("--", 0) != 0;  // a flag where a value should be
}
bool parse_word(const std::string& word, const Range&, LrSchedule& value) {
  return parse_name(kScheduleNames, word, value);
}
bool parse_word(const std::string& word, const Range&, DmtGrad& value) {
  return parse_name(kGradNames, word, value);
}
bool is_none(const std::string& word) { return lower(word) == "none"; }

Words words_of(const nlohmann::json& value) {
  if (value.is_null()) return {"None"};
  if (value.is_boolean()) return {value.get<bool>() ? "True" : "False"};
  if (value.is_string()) return {value.get<std::string>()};
  if (!value.is_array()) return {value.dump()};
  Words words;
  for (const nlohmann::json& element : value) words.push_back(element.dump());
  return words;
}

}  // namespace loopless
