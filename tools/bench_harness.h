/// How benchmarks are timed, and what is reported of them.
///
/// A benchmark runs in rounds: first the machine's rate is measured, then the benchmark is timed,
/// and again. Its floor is the least time that its work takes at the best of these rates: FLOP at
/// the rate of matrix products, or bytes at the rate of a copy. (What fits in the caches can be
/// faster than a floor of bytes.)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/calibration.h"

namespace loopless {

/// The work that a benchmark cannot do without.
struct Floor {
  enum class Kind { kNone, kFlop, kBytes };
  Kind kind = Kind::kNone;
  double amount = 0;
};
inline Floor flop(double amount) { return {Floor::Kind::kFlop, amount}; }
inline Floor bytes(double amount) { return {Floor::Kind::kBytes, amount}; }
/// `amount` floats read or written.
inline Floor floats(double amount) { return bytes(4 * amount); }

/// Which models have the sizes that a benchmark uses.
enum class Size { kPaper, kDemo, kQuick };
const char* name_of(Size size);

struct Benchmark {
  std::string name;  // "rms_norm/34816x256/forward": the op's folder, sizes, what is timed
  Size size;
  Floor floor;
  /// Makes the inputs and returns what is timed. They live as long as the returned function.
  std::function<std::function<void()>()> prepare;
};

struct BenchmarkResult {
  std::string name;
  double best_ms = 0;
  double median_ms = 0;
  Floor floor;
  Rates rates;                     // the best ones of its rounds
  int64_t runs = 0;                // that were timed
  int64_t system_allocations = 0;  // tensor memory taken from the system during them

  /// Floor over best time; NaN without floor. floor_ms likewise.
  double share() const { return floor_ms() / best_ms; }
  double floor_ms() const;
};

inline constexpr int kBenchmarkRounds = 5;

/// Runs the benchmark once untimed (first calls build caches), then for about `seconds`, cut into
/// rounds; at least once a round. `measure` raises the rates that the floor needs.
using MeasureFn = std::function<void(Floor::Kind, Rates&)>;
BenchmarkResult run_benchmark(const Benchmark& benchmark, double seconds, const MeasureFn& measure);

/// Those of the given sizes ("paper", "demo", "quick") whose name the regular expression finds,
/// ordered by name.
/// Throws std::regex_error if `filter` is none.
std::vector<Benchmark> select_benchmarks(std::vector<Benchmark> all, const std::string& filter,
                                         const std::vector<std::string>& sizes);

/// "threads 2, avx2: peak 215 GFLOP/s, matmul 204 GFLOP/s (95 % of peak), copy 48.1 GB/s", and a
/// second line where the matmul is below kLowCalibration.
std::string calibration_line(const Rates& rates, int threads);
/// The head of the table, and one line of it.
std::string table_head();
std::string table_line(const BenchmarkResult& result);
nlohmann::ordered_json json_of(const BenchmarkResult& result, int threads);

}  // namespace loopless
