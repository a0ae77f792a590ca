// Runs that are killed, stopped, or run out of disk: whatever happens, going on ends as if it had
// not. LOOPLESS_KILLS says how often each method's run is killed (3; the long form is 40).
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"
#include "tests/tools/run_tool.h"
#include "train/stop_signal.h"

namespace loopless::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// A process in a shell, its output in a file.
class Process {
 public:
  Process(const std::string& command, const std::string& output) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
    ::_exit(127);
  }
  void signal(int number) const { ::kill(pid_, number); }
  /// The exit status, or minus the signal that ended it.
  int wait() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  /// Whether it has ended; its status then is `status`.
  bool has_ended(int& status) const {
    int raw = 0;
    if (::waitpid(pid_, &raw, WNOHANG) == 0) return false;
    status = WIFEXITED(raw) ? WEXITSTATUS(raw) : -WTERMSIG(raw);
    return true;
  }

 private:
  pid_t pid_ = -1;
};

class InterruptedRuns : public ::testing::Test {
 protected:
  InterruptedRuns() {
    std::string text;
    while (text.size() < 20'000)
      text += "the quick brown fox " + std::to_string(text.size()) + "\n";
    write_bytes(folder_ / "text.txt", text);
  }

  /// Tiny models; `steps` long, saving every 5.
  std::string command(const std::string& method, const std::string& save_dir, int64_t steps,
                      int64_t batch = 8) {
    std::string line =
        build_folder() + "/train_" + method + " --dataset text:" + (folder_ / "text.txt") +
        " --save_dir " + (folder_ / save_dir) + " --n_iters " + std::to_string(steps) +
        " --log_every 3 --ckpt_every 5 --test_windows 8 --threads 1 --lr_schedule constant"
        " --batch_size " +
        std::to_string(batch);
    for (const char* model : {"rnn", "teacher"}) {
      if (method == "bptt" && std::string(model) == "teacher") continue;
      const std::string flag = std::string(" --") + model + ".";
      line += flag + "vocab_size 128" + flag + "d_model 8" + flag + "mem_tokens 2" + flag +
              "mem_size 16" + flag + "n_heads 1" + flag + "decoder_depth 1";
    }
    line += " --rnn.rnn_depth 1";
    if (method != "bptt") line += " --teacher.encoder_depth 1";
    if (method == "smt") line += " --smt.T 16 --smt.Tc 12 --smt.Tf 4";
    if (method == "bptt") line += " --bptt.T 10";
    if (method == "dmt") {
      line += " --dmt.T 20 --dmt.Td 8 --dmt.Tc 12 --dmt.Tf 4 --dmt.k 4 --load_teacher_path " +
              (folder_ / "teacher");
    }
    return line;
  }
  void make_teacher() { ASSERT_EQ(run_command(command("smt", "teacher", 5)).status, 0); }
  /// Whether both runs have the same weights, moments and numbers.
  void expect_same(const std::string& a, const std::string& b, const std::string& what) {
    EXPECT_TRUE(training_bytes_of(folder_ / a) == training_bytes_of(folder_ / b)) << what;
    EXPECT_TRUE(numbers_of(folder_ / a) == numbers_of(folder_ / b)) << what;
  }
  /// Runs until a log line with `step` is there.
  void wait_for_step(const std::string& run, int64_t step) {
    const std::string wanted = "{\"step\":" + std::to_string(step) + ",";
    for (int i = 0; i < 6000; ++i) {
      if (fs::exists(folder_ / run + "/metrics.jsonl") &&
          read_bytes(folder_ / run + "/metrics.jsonl").find(wanted) != std::string::npos) {
        return;
      }
      std::this_thread::sleep_for(milliseconds(10));
    }
    FAIL() << "no step " << step;
  }

  TemporaryFolder folder_;
};

TEST_F(InterruptedRuns, killed_at_any_moment_they_end_the_same) {
  const char* given = std::getenv("LOOPLESS_KILLS");
  const int kills = given ? std::atoi(given) : 3;
  constexpr int64_t kSteps = 120;
  make_teacher();
  std::mt19937_64 random(1);
  for (const char* method : kMethods) {
    const std::string whole = std::string("whole_") + method,
                      killed = std::string("killed_") + method;
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(run_command(command(method, whole, kSteps)).status, 0);
    const auto length = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - start);
    int done = 0, in_saves = 0, status = -1, tries = 0;
    while (status != 0) {
      ASSERT_LT(tries++, 4 * kills + 10) << "runs end before they can be killed";
      const Process process(command(method, killed, kSteps) + " --resume auto",
                            folder_ / "output.txt");
      if (done < kills) {
        // Short of the whole length, so that most kills find it running.
        std::uniform_int_distribution<int64_t> moment(length.count() / 8, length.count() * 3 / 5);
        std::this_thread::sleep_for(std::chrono::microseconds(moment(random)));
        process.signal(SIGKILL);
      }
      status = process.wait();
      if (status == -SIGKILL) ++done;
      ASSERT_TRUE(status == 0 || status == -SIGKILL) << read_bytes(folder_ / "output.txt");
      std::error_code none_yet;
      for (const auto& entry :
           fs::directory_iterator(folder_ / killed + "/checkpoints", none_yet)) {
        in_saves += entry.path().string().find(".tmp.") != std::string::npos;
      }
      if (status == 0 && done < kills) {  // ended too soon: once more, from the start
        expect_same(killed, whole, method + std::string(" after ") + std::to_string(done));
        fs::remove_all(folder_ / killed);
        status = -1;
      }
    }
    expect_same(killed, whole, method);
    std::printf("%s: killed %d times, %d of them while saving\n", method, done, in_saves);
  }
}

TEST_F(InterruptedRuns, stop_at_a_signal_and_say_how_to_go_on) {
  ASSERT_EQ(run_command(command("smt", "whole", 1200)).status, 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string run = "stopped" + std::to_string(signal), output = folder_ / run + ".txt";
    const Process process(command("smt", run, 1200), output);
    wait_for_step(run, 30);
    process.signal(signal);
    EXPECT_EQ(process.wait(), 128 + signal);
    const std::string text = read_bytes(output), said = "to go on: ";
    const size_t at = text.rfind(said);
    ASSERT_NE(at, std::string::npos) << text;
    const Outcome resumed = run_command(text.substr(at + said.size()));
    EXPECT_EQ(resumed.status, 0) << resumed.output;
    expect_same(run, "whole", StopSignals::name_of(signal));
  }
}

TEST_F(InterruptedRuns, go_on_when_nobody_reads_their_output) {
  ASSERT_EQ(run_command(command("smt", "whole", 30)).status, 0);
  const std::string status = folder_ / "status";
  run_command("(" + command("smt", "run", 30) + "; echo $? >" + status + ") | true");
  EXPECT_EQ(read_bytes(status), "0\n");
  expect_same("run", "whole", "a closed pipe");
}

TEST_F(InterruptedRuns, a_second_signal_ends_at_once) {
  // A step of this run takes long: many windows.
  const Process process(command("bptt", "run", 100000, 20000), folder_ / "output.txt");
  int status = 0;
  while (!fs::exists(folder_ / "run/config.json")) {
    ASSERT_FALSE(process.has_ended(status)) << read_bytes(folder_ / "output.txt");
    std::this_thread::sleep_for(milliseconds(10));
  }
  process.signal(SIGTERM);
  std::this_thread::sleep_for(milliseconds(50));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 143);
  EXPECT_EQ(read_bytes(folder_ / "output.txt").find("stopping"), std::string::npos);
}

TEST_F(InterruptedRuns, two_processes_never_share_a_folder) {
  const Process first(command("smt", "run", 1'000'000), folder_ / "output.txt");
  wait_for_step("run", 3);
  for (const char* how : {" --resume auto", " --overwrite", ""}) {
    const Outcome second = run_command(command("smt", "run", 1'000'000) + how);
    EXPECT_EQ(second.status, 1);
    EXPECT_NE(second.output.find((folder_ / "run") + ": is in use by process "), std::string::npos)
        << second.output;
  }
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait(), -SIGKILL);
}

/// A limit on the size of files stands in for a full disk: checkpoints do not fit, lines do.
TEST_F(InterruptedRuns, go_on_when_the_disk_is_full) {
  const Outcome outcome = run_command("trap '' XFSZ; ulimit -f 20; " + command("smt", "run", 12));
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  const std::string path = checkpoint_path(folder_ / "run", 5);
  EXPECT_NE(outcome.output.find("step 5 is not saved: " + path + ": cannot write: File too large"),
            std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("step 12 could not be saved: "), std::string::npos);
  EXPECT_EQ(numbers_of(folder_ / "run").size(), 5u);  // steps 1, 3, 6, 9 and 12
  EXPECT_TRUE(fs::is_empty(folder_ / "run/checkpoints"));
}

}  // namespace
}  // namespace loopless::testing
