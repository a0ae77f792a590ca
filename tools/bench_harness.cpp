#include "tools/bench_harness.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <regex>
#include <utility>

#include "tensor/storage.h"

namespace loopless {
namespace {

using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t upper = values.size() / 2, lower = (values.size() - 1) / 2;
  return (values[lower] + values[upper]) / 2;
}

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

/// Four significant digits, whatever the magnitude; "-" for NaN.
std::string milliseconds(double ms) {
  if (std::isnan(ms)) return "-";
  const int digits = ms < 1e-3 ? 6 : 3 - static_cast<int>(std::floor(std::log10(ms)));
  return format("%.*f", std::max(digits, 0), ms);
}

bool is_low(const Rates& rates) { return rates.matmul < kLowCalibration * rates.peak; }

nlohmann::ordered_json number_or_null(double value) {
  return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
}

}  // namespace

const char* name_of(Size size) {
  switch (size) {
    case Size::kPaper:
      return "paper";
    case Size::kDemo:
      return "demo";
    case Size::kQuick:
      return "quick";
  }
  return "?";
}

double BenchmarkResult::floor_ms() const {
  switch (floor.kind) {
    case Floor::Kind::kFlop:
      return 1e3 * floor.amount / rates.matmul;
    case Floor::Kind::kBytes:
      return 1e3 * floor.amount / rates.copy;
    case Floor::Kind::kNone:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

BenchmarkResult run_benchmark(const Benchmark& benchmark, double seconds,
                              const MeasureFn& measure) {
  BenchmarkResult result;
  result.name = benchmark.name;
  result.floor = benchmark.floor;
  const std::function<void()> run = benchmark.prepare();
  run();
  const std::chrono::duration<double> budget(seconds / kBenchmarkRounds);
  std::vector<double> times;
  for (int round = 0; round < kBenchmarkRounds; ++round) {
    measure(benchmark.floor.kind, result.rates);
    const int64_t allocations = allocator_stats().system_allocations;
    const Clock::time_point begin = Clock::now();
    Clock::time_point end = begin;
    do {
      const Clock::time_point start = Clock::now();
      run();
      end = Clock::now();
      times.push_back(std::chrono::duration<double, std::milli>(end - start).count());
    } while (end - begin < budget);
    result.system_allocations += allocator_stats().system_allocations - allocations;
  }
  result.runs = static_cast<int64_t>(times.size());
  result.best_ms = *std::min_element(times.begin(), times.end());
  result.median_ms = median(std::move(times));
  return result;
}

std::vector<Benchmark> select_benchmarks(std::vector<Benchmark> all, const std::string& filter,
                                         const std::vector<std::string>& sizes) {
  const std::regex pattern(filter);
  std::erase_if(all, [&](const Benchmark& benchmark) {
    const auto size = std::find(sizes.begin(), sizes.end(), name_of(benchmark.size));
    return size == sizes.end() || !std::regex_search(benchmark.name, pattern);
  });
  std::sort(all.begin(), all.end(),
            [](const Benchmark& a, const Benchmark& b) { return a.name < b.name; });
  return all;
}

std::string calibration_line(const Rates& rates, int threads) {
  const double share = 100 * rates.matmul / rates.peak;
  std::string line = format(
      "threads %d, %s: peak %.0f GFLOP/s, matmul %.0f GFLOP/s (%.0f %% of peak), copy %.1f GB/s",
      threads, isa_name(), rates.peak / 1e9, rates.matmul / 1e9, share, rates.copy / 1e9);
  if (is_low(rates)) {
    line += format(
        "\nthe matmul calibration is below %.0f %% of the machine's peak: floors of FLOP "
        "are too easy",
        100 * kLowCalibration);
  }
  return line;
}

std::string table_head() {
  return format("%-44s %10s %10s %10s %7s %8s", "benchmark", "best ms", "median ms", "floor ms",
                "share", "x floor");
}

std::string table_line(const BenchmarkResult& result) {
  const double share = result.share();
  std::string line =
      format("%-44s %10s %10s %10s", result.name.c_str(), milliseconds(result.best_ms).c_str(),
             milliseconds(result.median_ms).c_str(), milliseconds(result.floor_ms()).c_str());
  line += std::isnan(share) ? format(" %7s %8s", "-", "-")
                            : format(" %5.0f %% %7.2fx", 100 * share, 1 / share);
  if (result.floor.kind == Floor::Kind::kFlop && is_low(result.rates)) {
    line +=
        format("  (calibration at %.0f %% of peak)", 100 * result.rates.matmul / result.rates.peak);
  }
  if (result.system_allocations > 0) {
    line += format("  (%ld system allocations)", static_cast<long>(result.system_allocations));
  }
  return line;
}

nlohmann::ordered_json json_of(const BenchmarkResult& result, int threads) {
  nlohmann::ordered_json json;
  json["name"] = result.name;
  json["ms"] = result.best_ms;
  json["median_ms"] = result.median_ms;
  json["floor_ms"] = number_or_null(result.floor_ms());
  json["share"] = number_or_null(result.share());
  json["runs"] = result.runs;
  json["threads"] = threads;
  json["system_allocations"] = result.system_allocations;
  return json;
}

}  // namespace loopless
