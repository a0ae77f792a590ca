#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "train/config_json.h"
#include "train/flags.h"

namespace loopless {
namespace {

using testing::TemporaryFolder;
using testing::write_bytes;

std::optional<TrainConfig> parse_all(const std::string& method, const Words& words) {
  std::vector<const char*> argv = {"train"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_train_flags(method, static_cast<int>(argv.size()), argv.data());
}

/// Words of a line without quotes, after the two flags that every run needs.
Words words_of_line(const std::string& line) {
  Words words = {"--dataset=kjv", "--save_dir=runs/a"};
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TrainConfig parse(const std::string& method, const std::string& line) {
  return parse_all(method, words_of_line(line)).value();
}

std::string message_of(const std::string& method, const Words& words) {
  try {
    parse_all(method, words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing thrown";
}
std::string message_of(const std::string& method, const std::string& line) {
  return message_of(method, words_of_line(line));
}

TEST(Flags, defaults) {
  const TrainConfig smt = parse("smt", "");
  TrainConfig expected;
  expected.method = "smt";
  expected.run.dataset = "kjv";
  expected.run.save_dir = "runs/a";
  EXPECT_EQ(to_json(smt), to_json(expected));

  const TrainConfig dmt = parse("dmt", "");
  EXPECT_EQ(dmt.optimizer.batch_size, 32);
  EXPECT_EQ(dmt.run.n_iters, 1500);
  EXPECT_EQ(dmt.run.log_every, 10);
  EXPECT_EQ(dmt.dmt.grad, DmtGrad::kDetach);

  const TrainConfig bptt = parse("bptt", "");
  EXPECT_EQ(bptt.optimizer.batch_size, 32);
  EXPECT_EQ(bptt.optimizer.lr_schedule, LrSchedule::kWarmupConstant);
  EXPECT_EQ(bptt.run.n_iters, 150'000);
}

TEST(Flags, forms_of_values) {
  const TrainConfig config = parse(
      "smt",
      "--smt.Tc 64 --smt.Tf=16 --lr=1e-3 --adam_betas 0.8 0.99 --lr_schedule warmup_cosine "
      "--rnn.mem_fsq=0.5 --ckpt_every=50 --load_rnn_path a.safetensors --seed 18446744073709551615 "
      "--smt.detach_rnn=TRUE --smt.unif_over_tokens false --threads 3 --max_seconds 2.5 "
      "--overwrite");
  EXPECT_EQ(config.smt.Tc, 64);
  EXPECT_EQ(config.smt.Tf, 16);
  EXPECT_EQ(config.optimizer.lr, 1e-3);
  EXPECT_EQ(config.optimizer.adam_betas, (std::array<double, 2>{0.8, 0.99}));
  EXPECT_EQ(config.optimizer.lr_schedule, LrSchedule::kWarmupCosine);
  EXPECT_EQ(config.rnn.mem_fsq, 0.5);
  EXPECT_EQ(config.run.ckpt_every, 50);
  EXPECT_EQ(config.run.load_rnn_path, "a.safetensors");
  EXPECT_EQ(config.run.seed, UINT64_MAX);
  EXPECT_TRUE(config.smt.detach_rnn);
  EXPECT_FALSE(config.smt.unif_over_tokens);
  EXPECT_EQ(config.run.threads, 3);
  EXPECT_EQ(config.run.max_seconds, 2.5);
  EXPECT_TRUE(config.run.overwrite);

  const TrainConfig none = parse("smt", "--rnn.mem_fsq None --ckpt_every=none --overwrite False");
  EXPECT_EQ(none.rnn.mem_fsq, std::nullopt);
  EXPECT_EQ(none.run.ckpt_every, std::nullopt);
  EXPECT_FALSE(none.run.overwrite);
}

TEST(Flags, detach_rnn_is_the_inverted_name_of_grad) {
  const auto grad = [](const std::string& line) { return parse("dmt", line).dmt.grad; };
  EXPECT_EQ(grad("--dmt.detach_rnn False"), DmtGrad::kDetach);
  EXPECT_EQ(grad("--dmt.detach_rnn True"), DmtGrad::kFullBptt);
  EXPECT_EQ(grad("--dmt.grad full_bptt"), DmtGrad::kFullBptt);
  EXPECT_EQ(grad("--dmt.grad full_bptt --dmt.detach_rnn True"), DmtGrad::kFullBptt);
  EXPECT_EQ(message_of("dmt", "--dmt.grad full_bptt --dmt.detach_rnn False"),
            "--dmt.detach_rnn: False stands for --dmt.grad detach, got --dmt.grad full_bptt too");
  EXPECT_EQ(message_of("dmt", "--dmt.grad detach --dmt.detach_rnn True"),
            "--dmt.detach_rnn: True stands for --dmt.grad full_bptt, got --dmt.grad detach too");
}

TEST(Flags, help_mentions_every_flag_with_its_default) {
  for (const char* method : {"smt", "dmt", "bptt"}) {
    ::testing::internal::CaptureStdout();
    EXPECT_FALSE(parse_all(method, {"--help"}));
    const std::string help = ::testing::internal::GetCapturedStdout();
    const TrainConfig config = default_config(method);
    for_each_setting(config, [&](const Setting& setting, const auto& value) {
      const std::string shown = join(words_of(json_of(value)));
      const std::string line =
          "  --" + setting.flag() + " " + setting.unit + (shown.empty() ? "" : " [" + shown + "]");
      EXPECT_NE(help.find(line), std::string::npos) << method << ": " << line;
      EXPECT_NE(help.find(setting.help), std::string::npos) << method << ": " << line;
      EXPECT_NE(help.find(std::string("\n") + setting.section.title + ":\n"), std::string::npos);
    });
    EXPECT_NE(help.find("--config FILE"), std::string::npos);
    EXPECT_NE(help.find("--rnn.use_rmsnorm True|False"), std::string::npos);
  }
}

TEST(Flags, a_method_has_no_flags_of_another) {
  EXPECT_EQ(message_of("smt", "--dmt.Tc 3"), "--dmt.Tc: no such flag; --help lists them");
  EXPECT_EQ(message_of("dmt", "--smt.Tc=3"), "--smt.Tc=3: no such flag; --help lists them");
  EXPECT_EQ(message_of("bptt", "--teacher.d_model 3"),
            "--teacher.d_model: no such flag; --help lists them");
  EXPECT_EQ(message_of("bptt", "--load_teacher_path a"),
            "--load_teacher_path: no such flag; --help lists them");
}

TEST(Flags, invalid_values) {
  const struct {
    const char *method, *flag, *value, *expected;
  } cases[] = {
      {"smt", "smt.Tc", "12abc", "a whole number from 1 to 2147483647"},
      {"smt", "smt.Tc", "0", "a whole number from 1 to 2147483647"},
      {"smt", "smt.Tc", "1.5", "a whole number from 1 to 2147483647"},
      {"smt", "smt.Tf", "2147483648", "a whole number from 1 to 2147483647"},
      {"smt", "rnn.rnn_depth", "0", "a whole number from 1 to 2147483647"},
      {"smt", "ckpt_every", "-1", "a whole number from 1 to 2147483647 or None"},
      {"smt", "seed", "18446744073709551616", "a whole number from 0 to 18446744073709551615"},
      {"smt", "seed", "-1", "a whole number from 0 to 18446744073709551615"},
      {"smt", "threads", "4097", "a whole number from 0 to 4096"},
      {"smt", "lr", "-0.1", "a number of at least 0"},
      {"smt", "lr", "nan", "a number of at least 0"},
      {"smt", "lr", "inf", "a number of at least 0"},
      {"smt", "lr", "1e999", "a number of at least 0"},
      {"smt", "lr", "None", "a number of at least 0"},
      {"smt", "clip_grad_norm", "0", "a number above 0"},
      {"smt", "rnn.mem_fsq", "0", "a number of at least 1e-30 or None"},
      {"smt", "smt.gamma", "1.1", "a number from 0 to 1"},
      {"smt", "smt.hot_rnn", "yes", "True or False"},
      {"smt", "lr_schedule", "cosine", "constant, warmup_constant or warmup_cosine"},
      {"dmt", "dmt.grad", "chunk_bptt", "detach or full_bptt"},
      {"smt", "adam_betas", "0.9", "two numbers in [0, 1)"},
      {"smt", "adam_betas", "0.9 1", "two numbers in [0, 1)"},
      {"smt", "adam_betas", "-0.1 0.9", "two numbers in [0, 1)"},
      {"bptt", "bptt.truncate", "-1", "a whole number from 0 to 2147483647"},
      {"smt", "load_rnn_path", "--lr", "a path or None"},
  };
  for (const auto& c : cases) {
    const std::string flag = std::string("--") + c.flag, value = c.value;
    const std::string line = flag + " " + value;
    EXPECT_EQ(message_of(c.method, line),
              flag + ": must be " + c.expected + ", got '" + value + "'");
  }
}

TEST(Flags, words_that_do_not_belong) {
  EXPECT_EQ(message_of("smt", "--smt.Tcc 3"), "--smt.Tcc: no such flag; --help lists them");
  EXPECT_EQ(message_of("smt", "-x"), "-x: no such flag; --help lists them");
  EXPECT_EQ(message_of("smt", "--lr 1 junk"),
            "'junk': one word too many; settings are flags, and --help lists them");
  EXPECT_EQ(message_of("smt", "--smt.Tc 12 --smt.Tc=8"), "--smt.Tc: is given twice, got '12 8'");
  EXPECT_EQ(message_of("smt", "--adam_betas 0.9 0.95 --adam_betas 0.8 0.9"),
            "--adam_betas: is given twice, got '0.9 0.95 0.8 0.9'");
  EXPECT_EQ(message_of("smt", "--lr"), "--lr: a value must follow: a number of at least 0");
  EXPECT_EQ(message_of("smt", "--smt.Tc="),
            "--smt.Tc: a value must follow: a whole number from 1 to 2147483647");
  EXPECT_EQ(message_of("smt", "--overwrite junk"),
            "--overwrite: must be True or False, got 'junk'");
  EXPECT_EQ(message_of("smt", Words{"--dataset", "", "--save_dir", "a"}),
            "--dataset: must be a text that is not empty, got ''");
}

TEST(Flags, settings_that_do_not_fit) {
  EXPECT_EQ(message_of("smt", Words{"--save_dir", "a"}),
            std::string("--dataset: is missing; ") + kDatasetForms);
  EXPECT_EQ(message_of("smt", Words{"--dataset", "kjv"}),
            "--save_dir: is missing; the folder where the run is written");
  EXPECT_EQ(message_of("smt", "--grad_accum_steps 3"),
            "--grad_accum_steps: must divide --batch_size, 128, got 3");
  EXPECT_EQ(message_of("smt", "--rnn.d_model 64 --rnn.mem_tokens 8"),
            "--rnn.mem_size: must be mem_tokens * d_model = 8 * 64 = 512, got 256");
  EXPECT_EQ(message_of("dmt", "--teacher.mem_size 255"),
            "--teacher.mem_size: must be mem_tokens * d_model = 1 * 256 = 256, got 255");
  EXPECT_EQ(message_of("dmt", "--rnn.vocab_size 128"),
            "--rnn.vocab_size: must be --teacher.vocab_size, 256, got 128");
  EXPECT_EQ(message_of("dmt", "--rnn.d_model 128 --rnn.mem_tokens 2"),
            "--rnn.mem_tokens: must be --teacher.mem_tokens, 1, got 2");
  EXPECT_EQ(message_of("smt", "--rnn.d_model 128 --rnn.mem_size 128"),
            "--rnn.d_model: must be --teacher.d_model, 256, got 128");
  EXPECT_EQ(message_of("smt", "--rnn.decoder_depth 2"),
            "--rnn.decoder_depth: must be --teacher.decoder_depth, 4, got 2");
  EXPECT_EQ(message_of("smt", "--rnn.n_heads 2"),
            "--rnn.n_heads: must be --teacher.n_heads, 8, got 2");
  EXPECT_EQ(message_of("dmt", "--rnn.decoder_depth 2 --rnn.n_heads 2"), "nothing thrown");
  EXPECT_EQ(message_of("smt", "--smt.T 319"),
            "--smt.T: must be at least Tc + Tf = 256 + 64 = 320, got 319");
  EXPECT_EQ(message_of("dmt", "--dmt.T 318"),
            "--dmt.T: must be at least Tc + Td - 1 = 256 + 64 - 1 = 319, got 318");
  EXPECT_EQ(message_of("dmt", "--dmt.T 319"), "nothing thrown");
  EXPECT_EQ(message_of("dmt", "--dmt.k 65"), "--dmt.k: must be at most Td = 64, got 65");
  EXPECT_EQ(message_of("dmt", "--dmt.hot_rnn False"),
            "--dmt.hot_rnn: must be True, got False: nothing would be trained");
  EXPECT_EQ(message_of("smt", "--smt.hot_rnn False --smt.hot_teacher False"),
            "--smt.hot_rnn: must be True unless --smt.hot_teacher is, got False for both: nothing "
            "would be trained");
  EXPECT_EQ(message_of("bptt", "--rnn.use_rmsnorm False"),
            "--rnn.use_rmsnorm: must be True, got False: only RMSNorm is there");
  EXPECT_EQ(message_of("smt", "--teacher.use_rmsnorm False"),
            "--teacher.use_rmsnorm: must be True, got False: only RMSNorm is there");
  EXPECT_EQ(message_of("dmt", "--dmt.hot_teacher_encoder True --dmt.T 319"),
            "--dmt.T: must be at least Tc + Tf - 1 + the last label time, 256 + 64 - 1 + 63 = 382, "
            "where the teacher is hot, got 319");
  EXPECT_EQ(message_of("dmt", "--overwrite --load_rnn_path runs/b/../a/checkpoints/x"),
            "--overwrite: would remove the run in --save_dir, runs/a, which --load_rnn_path is to "
            "be loaded from");
  EXPECT_EQ(message_of("dmt", "--overwrite --load_teacher_path ./runs/a"),
            "--overwrite: would remove the run in --save_dir, runs/a, which --load_teacher_path is "
            "to be loaded from");
  EXPECT_EQ(message_of("dmt", Words{"--dataset=kjv", "--save_dir=./runs//a/", "--overwrite",
                                    "--load_rnn_path=runs/a/checkpoints/x"}),
            "--overwrite: would remove the run in --save_dir, ./runs//a/, which --load_rnn_path is "
            "to be loaded from");
  EXPECT_EQ(message_of("dmt", "--load_rnn_path runs/a/checkpoints/x"), "nothing thrown");
  EXPECT_EQ(message_of("dmt", "--overwrite --load_rnn_path runs/b/checkpoints/x"),
            "nothing thrown");
}

TEST(Flags, a_toml_file_sets_what_flags_do_not) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.toml";
  write_bytes(path,
              "# a run\n"
              "lr = 1e-3  # rate\n"
              "adam_betas = [0.8, 0.9]\n"
              "ckpt_every = \"None\"\n"
              "load_rnn_path = \"runs/a b, c/rnn.safetensors\"\n"
              "overwrite = true\n"
              "rnn.n_heads = 2\n"
              "\n[smt]\n"
              "Tc = 64\n"
              "Tf = 32\n"
              "detach_rnn = true\n"
              "\n[teacher]\n"
              "n_heads = 2\n");
  const TrainConfig config = parse("smt", "--config " + path + " --smt.Tf 16 --ckpt_every 7");
  EXPECT_EQ(config.optimizer.lr, 1e-3);
  EXPECT_EQ(config.optimizer.adam_betas, (std::array<double, 2>{0.8, 0.9}));
  EXPECT_EQ(config.run.ckpt_every, 7);
  EXPECT_EQ(config.run.load_rnn_path, "runs/a b, c/rnn.safetensors");
  EXPECT_TRUE(config.run.overwrite);
  EXPECT_EQ(config.rnn.n_heads, 2);
  EXPECT_EQ(config.teacher.n_heads, 2);
  EXPECT_EQ(config.smt.Tc, 64);
  EXPECT_EQ(config.smt.Tf, 16);
  EXPECT_TRUE(config.smt.detach_rnn);
}

TEST(Flags, mistakes_in_a_toml_file) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.toml";
  const auto message = [&](const std::string& text, const std::string& flags = "") {
    write_bytes(path, text);
    return message_of("smt", "--config=" + path + " " + flags);
  };
  EXPECT_EQ(message("[smt]\nTcc = 64\n"), path + ": smt.Tcc: no such setting; --help lists them");
  EXPECT_EQ(message("[dmt]\nTc = 64\n"), path + ": dmt.Tc: no such setting; --help lists them");
  EXPECT_EQ(message("junk\n"), path + ": junk: no such setting; --help lists them");
  EXPECT_EQ(message("config = \"b.toml\"\n"),
            path + ": config: no such setting; --help lists them");
  EXPECT_EQ(message("[smt]\nTc = 6x4\n"),
            path + ": smt.Tc: must be a whole number from 1 to 2147483647, got '6x4'");
  EXPECT_EQ(message("adam_betas = [0.9]\n"),
            path + ": adam_betas: must be two numbers in [0, 1), got '0.9'");
  EXPECT_EQ(message("seed = 1\nthreads = 1\nseed = 2\n"), path + ": seed: is set twice");
  EXPECT_EQ(message("load_rnn_path = \"a#b\"\n"),
            path +
                ": load_rnn_path: cannot read \"a; texts are in quotes, on one line, without "
                "'#'");
  // What a flag sets is the flag's mistake.
  EXPECT_EQ(message("[smt]\nTc = 6x4\n", "--smt.Tc 0"),
            "--smt.Tc: must be a whole number from 1 to 2147483647, got '0'");
  EXPECT_EQ(message_of("smt", "--config no.toml"),
            "--config: no.toml: cannot open: No such file or directory");
  EXPECT_EQ(message_of("smt", "--config"), "--config: a value must follow: a file");
}

TEST(Flags, the_command_that_resumes) {
  const auto command = [](const std::vector<const char*>& argv) {
    return resume_command(static_cast<int>(argv.size()), argv.data());
  };
  EXPECT_EQ(command({"build/train_smt", "--lr=1e-3", "--adam_betas", "0.9", "0.95"}),
            "build/train_smt --lr=1e-3 --adam_betas 0.9 0.95 --resume auto");
  EXPECT_EQ(command({"a", "--overwrite", "--resume", "never", "--seed", "1"}),
            "a --seed 1 --resume auto");
  EXPECT_EQ(command({"a", "--overwrite=True", "--resume=x y", "--overwrite", "True", "--lr", "1"}),
            "a --lr 1 --resume auto");
  EXPECT_EQ(command({"a b", "--dataset", "text:it's", "--save_dir", ""}),
            "'a b' --dataset 'text:it'\\''s' --save_dir '' --resume auto");
}

TEST(Flags, exit_status) {
  const auto run = [](const std::function<int()>& body) {
    ::testing::internal::CaptureStderr();
    const int status = run_program("train_smt", body);
    return std::to_string(status) + " " + ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(run([] { return 0; }), "0 ");
  EXPECT_EQ(run([] { return 143; }), "143 ");
  EXPECT_EQ(run([]() -> int { throw Error("a: broke"); }), "1 train_smt: a: broke\n");
  EXPECT_EQ(run([]() -> int { throw std::runtime_error("b"); }), "1 train_smt: b\n");
  EXPECT_EQ(run([]() -> int { throw UsageError("--lr: no"); }), "2 train_smt: --lr: no\n");
}

}  // namespace
}  // namespace loopless
