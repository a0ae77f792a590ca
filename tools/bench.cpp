// Times every op and the training steps, each against the least time its work could take on this
// machine. See tools/bench_harness.h for how, tools/bench/ for what.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <omp.h>
#include <regex>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tensor/file.h"
#include "tools/bench/suite.h"
#include "train/flags.h"

namespace loopless::bench {
namespace {

struct Options {
  bool is_list = false;
  std::string filter;
  int threads = 0;  // 0: all the processor has
  double seconds = 1;
  std::string out = "build/bench.json";
  std::vector<std::string> sizes = {"paper", "demo", "quick"};
};

std::string check_regex(const std::string& text) {
  try {
    std::regex pattern(text);
    return "";
  } catch (const std::regex_error&) {
    return "\"" + text + "\" is no regular expression";
  }
}

void declare_flags(CLI::App& app, Options& options) {
  app.add_flag("--list", options.is_list, "print the names of the benchmarks and end");
  app.add_option("--filter", options.filter, "only those that this regular expression finds")
      ->type_name("REGEX")
      ->check(check_regex);
  app.add_option("--sizes", options.sizes, "only those of these models: paper, demo, quick")
      ->type_name("SIZE...")
      ->check(CLI::IsMember({"paper", "demo", "quick"}));
  app.add_option("--threads", options.threads, "of the CPU; by default all it has")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  app.add_option("--seconds", options.seconds, "that one benchmark is timed for; by default 1")
      ->type_name("S")
      ->check(CLI::Range(1e-6, 1e6));
  app.add_option("--out", options.out, "where the results are written; by default build/bench.json")
      ->type_name("FILE");
}

void print(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

void run(const std::vector<Benchmark>& benchmarks, const Options& options) {
  if (options.threads > 0) omp_set_num_threads(options.threads);
  const int threads = omp_get_max_threads();
  const Calibration calibration;
  Rates rates;
  for (int round = 0; round < kBenchmarkRounds; ++round) {
    calibration.measure_matmul(rates);
    calibration.measure_copy(rates);
  }
  print(calibration_line(rates, threads));
  print(table_head());
  const auto measure = [&](Floor::Kind kind, Rates& found) {
    if (kind == Floor::Kind::kFlop) calibration.measure_matmul(found);
    if (kind == Floor::Kind::kBytes) calibration.measure_copy(found);
    // The peak is the machine's own: the best of the whole run.
    rates.peak = found.peak = std::max(rates.peak, found.peak);
  };
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  int64_t system_allocations = 0;
  for (const Benchmark& benchmark : benchmarks) {
    const BenchmarkResult result = run_benchmark(benchmark, options.seconds, measure);
    print(table_line(result));
    results.push_back(json_of(result, threads));
    system_allocations += result.system_allocations;
    allocator_trim();
  }
  AtomicFile file(options.out);
  file.write(results.dump(1) + "\n");
  file.commit();
  print("system allocations while timed: " + std::to_string(system_allocations));
  print("written to " + options.out);
}

/// Returns the exit status.
int main(int argc, char** argv) {
  CLI::App app("Times every op and the training steps against what this machine can do.", "bench");
  Options options;
  declare_flags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "; --help shows the usage");
  }
  const std::vector<Benchmark> benchmarks =
      select_benchmarks(registered_benchmarks(), options.filter, options.sizes);
  if (benchmarks.empty()) {
    throw UsageError("no benchmark of these sizes matches \"" + options.filter +
                     "\"; --list prints all");
  }
  if (options.is_list) {
    for (const Benchmark& benchmark : benchmarks) print(benchmark.name);
    return 0;
  }
  // Said now, not after minutes of timing.
  const std::filesystem::path folder = std::filesystem::path(options.out).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    throw UsageError("--out: there is no folder " + folder.string());
  }
  run(benchmarks, options);
  return 0;
}

}  // namespace
}  // namespace loopless::bench

int main(int argc, char** argv) {
  return loopless::run_program("bench", [&] { return loopless::bench::main(argc, argv); });
}
