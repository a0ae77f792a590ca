/// Feeds changed files to the readers of arrays, tensors, settings and images. Each must be read or refused with one line, in a
/// second, with no more memory than ten times the file (and a constant).
///
/// The changes are those of a seeded generator: the same seed gives the same files. The file that
/// was read last stays in the folder, also after a crash.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/memory.h"
#include "tests/fuzz/readers.h"
#include "tests/support/files.h"
#include "train/flags.h"

namespace loopless::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMaxSeconds = 1;       // that one file may take
constexpr unsigned kAlarmSeconds = 20;  // after which a reader is held to hang
constexpr int64_t kMaxMemoryFactor = 10;
// Buffers that do not depend on the file: 1 MiB to unpack into, tables of the command line.
constexpr int64_t kMemoryConstant = int64_t{3} << 20;
constexpr size_t kMaxMessage = 400;  // characters, without the path

constexpr Section kFuzz{"fuzz", "Fuzz", false};

struct Options {
  int64_t seconds = 10;
  int64_t inputs = 0;
  std::string reader, folder = "build/fuzz";
  uint64_t seed = 0;
};

struct Tally {
  int64_t inputs = 0, refused = 0;
  std::string refusal;  // the last one
  double slowest = 0;   // seconds
  int64_t memory = 0;   // bytes, the most
};

/// A message must be one line that can be shown on any terminal.
void check_message(const std::string& message, const std::string& path) {
  CHECK(message.size() < path.size() + kMaxMessage, "the message has ", message.size(),
        " characters: ", message);
  for (char c : message)
    CHECK(static_cast<unsigned char>(c) >= ' ' && c != 0x7f,
          "the message has a control character: ", message);
}

void read_one(const Reader& reader, const std::string& path, const std::string& bytes,
              Tally& tally) {
  write_bytes(path, bytes);
  reset_peak_memory();
  const std::clock_t start = std::clock();  // the processor's time: others may keep us waiting
  ::alarm(kAlarmSeconds);
  try {
    reader.read(path);
  } catch (const Error& error) {
    ++tally.refused;
    tally.refusal = error.what();
    check_message(tally.refusal, path);
  }
  ::alarm(0);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const int64_t memory = peak_memory();
  CHECK(seconds < kMaxSeconds, "takes ", seconds, " s");
  CHECK(memory <= kMaxMemoryFactor * static_cast<int64_t>(bytes.size()) + kMemoryConstant, "takes ",
        memory, " bytes for a file of ", bytes.size());
  tally.slowest = std::max(tally.slowest, seconds);
  tally.memory = std::max(tally.memory, memory);
  ++tally.inputs;
}

/// `share` of the time, or the number of inputs. Returns the exit status.
int fuzz(const Reader& reader, const Options& o, double share) {
  const std::string path = o.folder + "/" + reader.name;
  std::mt19937_64 random(o.seed);
  Tally tally;
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto wrapped = [&](const std::string& bytes) {
    return reader.wrap ? reader.wrap(bytes) : bytes;
  };
  try {
    for (const std::string& whole : reader.seeds) {
      read_one(reader, path, wrapped(whole), tally);
      CHECK(tally.refused == 0, "a whole file is refused: ", tally.refusal);
    }
    while (o.inputs ? tally.inputs < o.inputs : seconds() < share) {
      const std::string& whole = reader.seeds[random() % reader.seeds.size()];
      read_one(reader, path, wrapped(mutated(whole, reader.header, random)), tally);
    }
  } catch (const std::exception& error) {
    std::printf("%s: input %lld of seed %llu, in %s: %s\n", reader.name.c_str(),
                static_cast<long long>(tally.inputs), static_cast<unsigned long long>(o.seed),
                path.c_str(), error.what());
    return 1;
  }
  std::printf(
      "%-12s %10lld inputs %10lld refused %8.1f s   slowest %7.3f ms   most memory %6.0f KiB\n",
      reader.name.c_str(), static_cast<long long>(tally.inputs),
      static_cast<long long>(tally.refused), seconds(), tally.slowest * 1e3,
      static_cast<double>(tally.memory) / 1024);
  return 0;
}

/// In a process of its own, so that a crash is a result.
bool survives(const Reader& reader, const Options& o, double share) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    const int status = fuzz(reader, o, share);
    std::fflush(stdout);
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    std::printf("%s: %s on the file %s/%s\n", reader.name.c_str(),
                WTERMSIG(status) == SIGALRM ? "hangs" : "crashes", o.folder.c_str(),
                reader.name.c_str());
  } else if (WEXITSTATUS(status) > 1) {
    std::printf("%s: stopped with status %d on the file %s/%s\n", reader.name.c_str(),
                WEXITSTATUS(status), o.folder.c_str(), reader.name.c_str());
  }
  return status == 0;
}

int run(int argc, char** argv) {
  Options o;
  Flags flags("fuzz",
              "Feeds changed files to the readers of arrays, tensors, settings and images.");
  const auto add = flags.adder(kFuzz);
  add("seconds", kCount, "s", "for all readers together", o.seconds);
  add("inputs", kCountOrZero, "files", "for each reader, whatever the time; 0: by the time",
      o.inputs);
  add("reader", kText, "NAME", "only this one", o.reader);
  add("folder", kText, "FOLDER", "where the files are written", o.folder);
  add("seed", kSeed, "number", "of the changes", o.seed);
  if (!flags.parse(argc, argv)) return 0;

  std::vector<Reader> readers = all_readers();
  std::string names;
  for (const Reader& reader : readers) names += (names.empty() ? "" : ", ") + reader.name;
  if (!o.reader.empty())
    std::erase_if(readers, [&](const Reader& reader) { return reader.name != o.reader; });
  if (readers.empty())
    throw UsageError("--reader: must be one of " + names + ", got '" + o.reader + "'");
  std::filesystem::create_directories(o.folder);
  int failed = 0;
  for (const Reader& reader : readers) {
    failed +=
        !survives(reader, o, static_cast<double>(o.seconds) / static_cast<double>(readers.size()));
  }
  return failed > 0;
}

}  // namespace
}  // namespace loopless::testing

int main(int argc, char** argv) {
  return loopless::run_program("fuzz", [&] { return loopless::testing::run(argc, argv); });
}
