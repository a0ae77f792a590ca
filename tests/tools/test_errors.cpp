// The table of errors, errors.txt: what is given, what is said, the exit status.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tensor/npy.h"
#include "tensor/safetensors.h"
#include "tests/support/files.h"
#include "tests/tools/run_tool.h"

namespace loopless::testing {
namespace {

namespace fs = std::filesystem;

/// One entry of the table: "$ COMMAND", then "STATUS OUTPUT", where <n> stands for any number.
struct Case {
  std::string command;
  int status = 0;
  std::string output;
};

std::vector<Case> table() {
  std::ifstream file("tests/tools/errors.txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line.rfind("$ ", 0) == 0) {
      cases.push_back({line.substr(2), -1, ""});
    } else {
      cases.back().status = line[0] - '0';
      cases.back().output = line.substr(2) + "\n";
    }
  }
  return cases;
}

/// Whether the text is the pattern, with some number for each <n>.
bool matches(const std::string& text, const std::string& pattern) {
  size_t at = 0;
  for (size_t i = 0; i < pattern.size();) {
    if (pattern.compare(i, 3, "<n>") == 0) {
      const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
      if (end == at) return false;
      at = end;
      i += 3;
    } else if (at >= text.size() || text[at++] != pattern[i++]) {
      return false;
    }
  }
  return at == text.size();
}

/// A folder of good and of bad files, in which the commands run.
class ErrorTable : public ::testing::Test {
 protected:
  ErrorTable() {
    make_tokens();
    make_configs();
    for (const char* folder : {"hollow", "data/images"}) fs::create_directories(folder_ / folder);
    for (const char* run : {"train_smt --config smt.toml --save_dir run",
                            "train_bptt --config bptt.toml --save_dir bptt",
                            "train_dmt --config dmt.toml --save_dir dmt --load_teacher_path run"}) {
      const Outcome outcome = run_here(run);
      EXPECT_EQ(outcome.status, 0) << outcome.output;
    }
    make_checkpoints();
    write("file", "hello\n");
    write("empty", "");
  }

  void write(const std::string& name, const std::string& bytes) {
    write_bytes(folder_ / name, bytes);
  }
  void copy_with(const std::string& from, const std::string& to, auto change) {
    std::string bytes = read_bytes(folder_ / from);
    change(bytes);
    write(to, bytes);
  }

  void make_tokens() {
    std::vector<uint8_t> tokens(400);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint8_t>(i * i % 128);
    const auto write_tokens = [&](const std::string& name, int64_t count) {
      fs::create_directories(fs::path(folder_ / name).parent_path());
      write_npy(folder_ / name, Tensor::from({count}, std::vector<uint8_t>(
                                                          tokens.begin(), tokens.begin() + count)));
    };
    write_tokens("train.npy", 400);
    write_tokens("test.npy", 200);
    write_tokens("short.npy", 5);
    write_tokens("data/images/train.npy", 400);
    write_tokens("data/images/test.npy", 200);
    write("data/images/image.json", R"({"height": 5, "width": 7, "patch": 1})");
    tokens[77] = 200;
    write_tokens("large.npy", 400);
    write_npy(folder_ / "f32.npy", Tensor::zeros({4}));
    write_npy(folder_ / "two.npy", Tensor::zeros({2, 3}, kU8));
    copy_with("train.npy", "cut.npy", [](std::string& bytes) { bytes.resize(bytes.size() - 3); });
    copy_with("train.npy", "header.npy", [](std::string& bytes) { bytes.resize(40); });
    copy_with("train.npy", "long.npy", [](std::string& bytes) { bytes += 'x'; });
  }

  void make_configs() {
    const std::string run =
        "dataset = \"npy:train.npy,test.npy\"\nn_iters = 2\nbatch_size = 2\ntest_windows = 2\n";
    const std::string model =
        "vocab_size = 128\nd_model = 8\nn_heads = 1\nmem_tokens = 2\nmem_size = 16\n"
        "decoder_depth = 1\n";
    const std::string rnn = "[rnn]\n" + model + "rnn_depth = 1\n";
    const std::string both = run + rnn + "[teacher]\n" + model + "encoder_depth = 1\n";
    write("smt.toml", both + "[smt]\nT = 12\nTc = 8\nTf = 4\n");
    write("dmt.toml", both + "[dmt]\nT = 16\nTc = 8\nTd = 8\n");
    write("bptt.toml", run + rnn + "[bptt]\nT = 12\n");
    write("unknown.toml", "lrr = 1\n");
    write("type.toml", "lr = \"fast\"\n");
    write("twice.toml", "lr = 1\nlr = 2\n");
    write("syntax.toml", "lr == 1\n");
    write("fraction.toml", "[smt]\nT = 10.5\n");
    write("binary.toml", std::string("\xff\xfe\x00\x01", 4));
    write("nested.toml", "[deep.er]\nx = 1\n");
  }

  void make_checkpoints() {
    const std::string good = "run/checkpoints/step_00000002.safetensors";
    copy_with(good, "cut.safetensors", [](std::string& bytes) { bytes.resize(bytes.size() / 2); });
    copy_with(good, "flipped.safetensors",
              [](std::string& bytes) { bytes[bytes.size() - 100] ^= 1; });
    write("text.safetensors", "not a checkpoint at all\n");
    write_safetensors(folder_ / "other.safetensors", {{"x", Tensor::zeros({2})}});
  }

  Outcome run_here(const std::string& command) {
    return run_command("cd " + folder_.path() + " && PATH=" + build_folder() + ":$PATH && " +
                       command);
  }
  /// Every file and folder, with what would show that it was touched.
  std::map<std::string, std::string> snapshot() const {
    std::map<std::string, std::string> result;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      const auto time = entry.last_write_time().time_since_epoch().count();
      result[entry.path().string()] =
          entry.is_directory() ? "folder"
                               : std::to_string(entry.file_size()) + " " + std::to_string(time);
    }
    return result;
  }

  TemporaryFolder folder_;
};

TEST_F(ErrorTable, says_one_line_and_leaves_all_as_it_was) {
  const std::vector<Case> cases = table();
  EXPECT_GT(cases.size(), 100u);
  const auto before = snapshot();
  for (const Case& one : cases) {
    const Outcome outcome = run_here(one.command);
    EXPECT_TRUE(matches(outcome.output, one.output)) << one.command << "\n"
                                                     << outcome.output << one.output;
    EXPECT_EQ(outcome.status, one.status) << one.command;
    const auto after = snapshot();
    EXPECT_EQ(after.size(), before.size()) << one.command;
    for (const auto& [name, state] : after) {
      const auto it = before.find(name);
      EXPECT_TRUE(it != before.end() && it->second == state) << one.command << " touched " << name;
    }
  }
}

/// The flags that --help lists: "--smt.Tc", ...
std::vector<std::string> flags_of(const std::string& help) {
  std::vector<std::string> flags;
  for (size_t at = help.find("\n  --"); at != help.npos; at = help.find("\n  --", at + 1)) {
    const size_t begin = at + 3, end = help.find_first_of(" \n", begin);
    flags.push_back(help.substr(begin, end - begin));
  }
  return flags;
}

/// Every flag of every program, with a value that few take, and a flag that none has.
TEST_F(ErrorTable, every_flag_refuses_what_it_cannot_be) {
  for (const std::string program : {"train_smt", "train_dmt", "train_bptt", "generate", "evaluate",
                                    "step", "inspect", "bench"}) {
    const std::vector<std::string> flags = flags_of(run_here(program + " --help").output);
    EXPECT_GT(flags.size(), 1u) << program;
    size_t naming = 0;  // all that do not take any text name themselves
    for (const std::string& flag : flags) {
      const std::string command = program + " " + flag + "=$'\\x01' --no.such";
      const Outcome outcome = run_here("bash -c \"" + command + "\"");
      EXPECT_TRUE(outcome.status == 1 || outcome.status == 2) << command;
      EXPECT_EQ(outcome.output.rfind(program + ": ", 0), 0u) << command << "\n" << outcome.output;
      EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1)
          << command << "\n"
          << outcome.output;
      EXPECT_EQ(outcome.output.find('\x01'), outcome.output.npos) << command;
      naming += outcome.output.rfind(program + ": " + flag + ": ", 0) == 0;
    }
    if (program.starts_with("train_")) {
      EXPECT_GT(naming, flags.size() - 10) << program;
    }
  }
}

}  // namespace
}  // namespace loopless::testing
