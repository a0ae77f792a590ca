#include "train/metrics.h"

#include <algorithm>
#include <cmath>
#include <unistd.h>
#include <utility>

namespace loopless {
namespace {

std::string number_text(const nlohmann::json& value) {
  if (value.is_number_integer()) return value.dump();
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value.get<double>());
  return text;
}

}  // namespace

// --- one log line -------------------------------------------------------------------------------

Record& Record::add(const std::string& key, double value, const std::string& unit) {
  items_.push_back({key, value, unit});
  return *this;
}

Record& Record::add(const std::string& key, int64_t value, const std::string& unit) {
  items_.push_back({key, value, unit});
  return *this;
}

Record& Record::add(const std::string& key, std::optional<double> value, const std::string& unit) {
  items_.push_back({key, value ? nlohmann::json(*value) : nlohmann::json(), unit});
  return *this;
}

nlohmann::ordered_json Record::json() const {
  nlohmann::ordered_json result = nlohmann::ordered_json::object();
  for (const Item& item : items_) result[item.key] = item.value;
  return result;
}

std::string Record::text() const {
  std::string result;
  for (const Item& item : items_) {
    if (item.value.is_null()) continue;
    result += (result.empty() ? "" : "  ") + item.key + " " + number_text(item.value);
    if (!item.unit.empty()) result += " " + item.unit;
  }
  return result;
}

std::string duration_text(double seconds) {
  const int64_t total = static_cast<int64_t>(std::min(std::max(seconds, 0.0), 1e9) + 0.5);
  char text[64];
  if (total < 60) {
    std::snprintf(text, sizeof text, "%lld s", static_cast<long long>(total));
  } else if (total < 3600) {
    std::snprintf(text, sizeof text, "%lld min %02lld s", static_cast<long long>(total / 60),
                  static_cast<long long>(total % 60));
  } else {
    std::snprintf(text, sizeof text, "%lld h %02lld min", static_cast<long long>(total / 3600),
                  static_cast<long long>(total / 60 % 60));
  }
  return text;
}

// --- file and console ---------------------------------------------------------------------------

Metrics::Metrics(const std::string& path, int64_t first_step, int64_t n_iters)
    : Metrics(path, first_step, n_iters, stdout, ::isatty(STDOUT_FILENO) == 1) {}

Metrics::Metrics(const std::string& path, int64_t first_step, int64_t n_iters, std::FILE* console,
                 bool is_terminal)
    : file_(path, first_step),
      first_step_(first_step),
      n_iters_(n_iters),
      console_(console),
      is_terminal_(is_terminal),
      step_(first_step) {}

Metrics::~Metrics() { erase_bar(); }

void Metrics::log(int64_t step, const Record& record) {
  nlohmann::ordered_json line = {{"step", step}};
  line.update(record.json());
  // Not a number and infinity are written as null.
  const bool was_waiting = file_.waiting() > 0;
  const std::string wrong = file_.append(line.dump());
  step_ = step;
  print("step " + std::to_string(step) + "/" + std::to_string(n_iters_) + "  " + record.text());
  if (!wrong.empty() && !was_waiting) say(wrong + "; the run goes on, its lines wait");
  if (wrong.empty() && was_waiting) say("the lines that waited are written");
}

void Metrics::say(const std::string& line) { print(line); }

void Metrics::progress(int64_t step) {
  step_ = step;
  constexpr std::chrono::milliseconds kBetweenDrawings{200};
  if (is_terminal_ && Clock::now() - last_drawn_ >= kBetweenDrawings) draw_bar();
}

void Metrics::print(const std::string& line) {
  const bool had_bar = is_bar_drawn_;
  erase_bar();
  std::fprintf(console_, "%s\n", line.c_str());
  if (had_bar) draw_bar();
  std::fflush(console_);
}

void Metrics::erase_bar() {
  if (!std::exchange(is_bar_drawn_, false)) return;
  std::fputs("\r\033[K", console_);  // to the line's begin; clear to its end
  std::fflush(console_);
}

void Metrics::draw_bar() {
  constexpr int64_t kWidth = 24;
  const int64_t n = std::max<int64_t>(n_iters_, 1);
  const int64_t filled = kWidth * std::clamp<int64_t>(step_, 0, n) / n;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const double rate = (step_ - first_step_) / std::max(seconds, 1e-9);  // steps/s
  char text[128];
  std::snprintf(text, sizeof text, "\r[%s%s] %3lld %%  %.3g steps/s",
                std::string(filled, '=').c_str(), std::string(kWidth - filled, ' ').c_str(),
                static_cast<long long>(100 * step_ / n), rate);
  const std::string left = rate > 0 ? "  " + duration_text((n - step_) / rate) + " left" : "";
  std::fprintf(console_, "%s%s\033[K", text, left.c_str());
  std::fflush(console_);
  is_bar_drawn_ = true;
  last_drawn_ = Clock::now();
}

}  // namespace loopless
