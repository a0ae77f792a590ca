#include <cmath>
#include <regex>

#include <gtest/gtest.h>

#include "tools/bench_harness.h"

namespace loopless {
namespace {

std::vector<std::string> names_of(const std::vector<Benchmark>& benchmarks) {
  std::vector<std::string> names;
  for (const Benchmark& benchmark : benchmarks) names.push_back(benchmark.name);
  return names;
}

BenchmarkResult result_of(const Floor& floor) {
  BenchmarkResult result;
  result.name = "rms_norm/8x4/forward";
  result.best_ms = 2.0;
  result.median_ms = 2.5;
  result.floor = floor;
  result.rates = {.peak = 200e9, .matmul = 180e9, .copy = 40e9};
  result.runs = 7;
  return result;
}

TEST(Bench, floor_is_work_over_rate) {
  EXPECT_DOUBLE_EQ(result_of(flop(180e6)).floor_ms(), 1.0);
  EXPECT_DOUBLE_EQ(result_of(flop(180e6)).share(), 0.5);
  EXPECT_DOUBLE_EQ(result_of(bytes(20e6)).floor_ms(), 0.5);
  EXPECT_DOUBLE_EQ(result_of(floats(5e6)).floor_ms(), 0.5);
  EXPECT_TRUE(std::isnan(result_of({}).floor_ms()));
  EXPECT_TRUE(std::isnan(result_of({}).share()));
}

TEST(Bench, json_holds_what_was_measured) {
  const nlohmann::ordered_json json = json_of(result_of(flop(180e6)), 2);
  EXPECT_EQ(json.dump(),
            "{\"name\":\"rms_norm/8x4/forward\",\"ms\":2.0,\"median_ms\":2.5,\"floor_ms\":1.0,"
            "\"share\":0.5,\"runs\":7,\"threads\":2,\"system_allocations\":0}");
  EXPECT_TRUE(json_of(result_of({}), 2)["floor_ms"].is_null());
  EXPECT_TRUE(json_of(result_of({}), 2)["share"].is_null());
}

TEST(Bench, table_reports_low_calibration_and_allocations) {
  BenchmarkResult result = result_of(flop(180e6));
  EXPECT_EQ(table_line(result),
            "rms_norm/8x4/forward                              2.000      2.500      1.000    50 %"
            "    2.00x");
  result.rates.matmul = 150e9;
  result.system_allocations = 3;
  const std::string line = table_line(result);
  EXPECT_NE(line.find("(calibration at 75 % of peak)"), std::string::npos) << line;
  EXPECT_NE(line.find("(3 system allocations)"), std::string::npos) << line;
  const std::string none = table_line(result_of({}));
  EXPECT_EQ(none.substr(none.size() - 28), "          -       -        -") << none;
}

TEST(Bench, calibration_below_four_fifths_of_peak_is_said) {
  const std::string fine = calibration_line({.peak = 200e9, .matmul = 160e9, .copy = 40e9}, 2);
  EXPECT_EQ(fine, std::string("threads 2, ") + isa_name() +
                      ": peak 200 GFLOP/s, matmul 160 GFLOP/s (80 % of peak), copy 40.0 GB/s");
  const std::string low = calibration_line({.peak = 200e9, .matmul = 159e9, .copy = 40e9}, 2);
  EXPECT_NE(low.find("\nthe matmul calibration is below 80 % of the machine's peak"),
            std::string::npos)
      << low;
}

TEST(Bench, selects_by_expression_and_size_and_sorts) {
  const std::vector<Benchmark> all = {{"smt/quick", Size::kQuick, {}, {}},
                                      {"smt/paper", Size::kPaper, {}, {}},
                                      {"gelu/4x4/forward", Size::kPaper, {}, {}}};
  using Names = std::vector<std::string>;
  const Names every = {"paper", "demo", "quick"};
  EXPECT_EQ(names_of(select_benchmarks(all, "", every)),
            (Names{"gelu/4x4/forward", "smt/paper", "smt/quick"}));
  EXPECT_EQ(names_of(select_benchmarks(all, "^smt/", every)), (Names{"smt/paper", "smt/quick"}));
  EXPECT_EQ(names_of(select_benchmarks(all, "", {"quick"})), Names{"smt/quick"});
  EXPECT_TRUE(select_benchmarks(all, "smt", {"demo"}).empty());
  EXPECT_THROW(select_benchmarks(all, "(", every), std::regex_error);
}

TEST(Bench, measures_the_machine_between_timed_runs) {
  std::string order;  // p: prepare, r: run, m: measure
  const Benchmark benchmark{"x", Size::kQuick, flop(1), [&] {
                              order += 'p';
                              return std::function<void()>([&] { order += 'r'; });
                            }};
  const BenchmarkResult result = run_benchmark(benchmark, 1e-9, [&](Floor::Kind kind, Rates& r) {
    EXPECT_EQ(kind, Floor::Kind::kFlop);
    order += 'm';
    r.matmul += 1e9;
  });
  EXPECT_EQ(order,
            "pr"
            "mr"
            "mr"
            "mr"
            "mr"
            "mr");  // the first run is not timed
  EXPECT_EQ(result.runs, kBenchmarkRounds);
  EXPECT_EQ(result.rates.matmul, kBenchmarkRounds * 1e9);
  EXPECT_GT(result.best_ms, 0);
  EXPECT_GE(result.median_ms, result.best_ms);
}

TEST(Bench, counts_system_allocations_of_timed_runs) {
  std::vector<Tensor> kept;
  const Benchmark benchmark{"x", Size::kQuick, {}, [&]() -> std::function<void()> {
                              return [&] { kept.push_back(Tensor::empty({12345})); };
                            }};
  allocator_trim();
  const BenchmarkResult result = run_benchmark(benchmark, 1e-9, [](Floor::Kind, Rates&) {});
  EXPECT_EQ(result.runs, kBenchmarkRounds);
  EXPECT_EQ(result.system_allocations, kBenchmarkRounds);
}

TEST(Bench, calibration_finds_rates) {
  Rates rates{.copy = 1e30};
  const Calibration calibration;
  calibration.measure_matmul(rates);
  calibration.measure_copy(rates);
  EXPECT_GT(rates.peak, 1e9);
  EXPECT_GT(rates.matmul, 1e8);
  EXPECT_EQ(rates.copy, 1e30);  // a lower rate does not replace a higher one
}

TEST(Bench, stream_copy_copies) {
  const int64_t count = 3 * kStreamBlock;
  const Tensor from = Tensor::empty({count}), to = Tensor::zeros({count});
  for (int64_t i = 0; i < count; ++i) from.data()[i] = static_cast<float>(i);
  stream_copy_cpu({from.data(), to.data(), count});
  EXPECT_EQ(to.to_vector(), from.to_vector());
}

TEST(Bench, multiply_add_computes_its_chains) {
  // a = 1/2 and b = 1: every chain ends at 2, and each of a vector's lanes sums 12 of them.
  float results[2];
  double flop = 0;
  multiply_add_cpu({0.5f, 1.0f, 100, 2, results, &flop});
  EXPECT_EQ(results[0], results[1]);
  const double numbers = results[0] / 2;  // lanes x chains
  EXPECT_EQ(flop, 2 * 100 * 2 * numbers);
}

}  // namespace
}  // namespace loopless
