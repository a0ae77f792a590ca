// The command lines that the reference implementation publishes, to the letter but for line breaks.
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "train/config_json.h"
#include "train/flags.h"

namespace loopless {
namespace {

using nlohmann::json;

constexpr const char* kSmtMnist = R"(
train_smt.py --seed=0 --dataset="mnist" --n_iters=150000 --log_every=1000 --ckpt_every=None
--save_dir="./runs/smt_mnist_0/" --load_rnn_path=None --load_teacher_path=None
--rnn.vocab_size=256 --rnn.mem_size=4096 --rnn.mem_tokens=16 --rnn.mem_rms_norm=True
--rnn.mem_fsq=None --rnn.d_model=256 --rnn.rnn_depth=8 --rnn.decoder_depth=4 --rnn.n_heads=8
--rnn.rotary_pos_emb=True --rnn.use_rmsnorm=True --teacher.vocab_size=256
--teacher.mem_size=4096 --teacher.mem_tokens=16 --teacher.mem_rms_norm=True
--teacher.mem_fsq=None --teacher.d_model=256 --teacher.encoder_depth=8
--teacher.decoder_depth=4 --teacher.n_heads=8 --teacher.rotary_pos_emb=True
--teacher.use_rmsnorm=True --lr=0.0003 --lr_schedule="warmup_constant" --weight_decay=0.01
--adam_betas 0.9 0.95 --batch_size=128 --grad_accum_steps=1 --clip_grad_norm=1.0 --smt.T=320
--smt.Tc=256 --smt.Tf=64 --smt.gamma=1.0 --smt.coef_dec=1.0 --smt.coef_dyn=0.1
--smt.coef_unif=0.001 --smt.unif_over_tokens=True --smt.detach_rnn=False --smt.hot_rnn=True
--smt.hot_teacher=True)";

constexpr const char* kSmtTinystories = R"(
train_smt.py --seed=0 --dataset="tinystories" --n_iters=150000 --log_every=1000
--ckpt_every=None --save_dir="./runs/smt_tinystories_0/" --load_rnn_path=None
--load_teacher_path=None --rnn.vocab_size=256 --rnn.mem_size=4096 --rnn.mem_tokens=16
--rnn.mem_rms_norm=True --rnn.mem_fsq=None --rnn.d_model=256 --rnn.rnn_depth=8
--rnn.decoder_depth=4 --rnn.n_heads=8 --rnn.rotary_pos_emb=True --rnn.use_rmsnorm=True
--teacher.vocab_size=256 --teacher.mem_size=4096 --teacher.mem_tokens=16
--teacher.mem_rms_norm=True --teacher.mem_fsq=None --teacher.d_model=256
--teacher.encoder_depth=8 --teacher.decoder_depth=4 --teacher.n_heads=8
--teacher.rotary_pos_emb=True --teacher.use_rmsnorm=True --lr=0.0003
--lr_schedule="warmup_constant" --weight_decay=0.01 --adam_betas 0.9 0.95 --batch_size=128
--grad_accum_steps=1 --clip_grad_norm=1.0 --smt.T=320 --smt.Tc=256 --smt.Tf=64
--smt.gamma=1.0 --smt.coef_dec=1.0 --smt.coef_dyn=0.1 --smt.coef_unif=0.001
--smt.unif_over_tokens=True --smt.detach_rnn=False --smt.hot_rnn=True --smt.hot_teacher=True)";

constexpr const char* kDmtMnist = R"(
train_dmt.py --seed=0 --dataset="mnist" --n_iters=1500 --log_every=10 --ckpt_every=300
--save_dir="./runs/smt_mnist_0//ft_dmt_256" --load_rnn_path="./runs/smt_mnist_0//rnn.pkl"
--load_teacher_path="./runs/smt_mnist_0//teacher.pkl" --rnn.vocab_size=256
--rnn.mem_size=4096 --rnn.mem_tokens=16 --rnn.mem_rms_norm=True --rnn.mem_fsq=None
--rnn.d_model=256 --rnn.rnn_depth=8 --rnn.decoder_depth=4 --rnn.n_heads=8
--rnn.rotary_pos_emb=True --rnn.use_rmsnorm=True --teacher.vocab_size=256
--teacher.mem_size=4096 --teacher.mem_tokens=16 --teacher.mem_rms_norm=True
--teacher.mem_fsq=None --teacher.d_model=256 --teacher.encoder_depth=8
--teacher.decoder_depth=4 --teacher.n_heads=8 --teacher.rotary_pos_emb=True
--teacher.use_rmsnorm=True --lr=3e-05 --lr_schedule="warmup_cosine" --weight_decay=0.01
--adam_betas 0.9 0.95 --batch_size=32 --clip_grad_norm=1.0 --dmt.T=576 --dmt.Td=256
--dmt.Tc=256 --dmt.Tf=64 --dmt.k=16 --dmt.coef_dec=1.0 --dmt.coef_dyn=10.0
--dmt.coef_unif=0.01 --dmt.coef_readout=1.0 --dmt.detach_readout=True --dmt.detach_rnn=False
--dmt.hot_rnn=True --dmt.hot_teacher_encoder=False --dmt.hot_teacher_decoder=False)";

constexpr const char* kDmtTinystories = R"(
train_dmt.py --seed=0 --dataset="tinystories" --n_iters=1500 --log_every=10 --ckpt_every=300
--save_dir="./runs/smt_tinystories_0//ft_dmt_256"
--load_rnn_path="./runs/smt_tinystories_0//rnn.pkl"
--load_teacher_path="./runs/smt_tinystories_0//teacher.pkl" --rnn.vocab_size=256
--rnn.mem_size=4096 --rnn.mem_tokens=16 --rnn.mem_rms_norm=True --rnn.mem_fsq=None
--rnn.d_model=256 --rnn.rnn_depth=8 --rnn.decoder_depth=4 --rnn.n_heads=8
--rnn.rotary_pos_emb=True --rnn.use_rmsnorm=True --teacher.vocab_size=256
--teacher.mem_size=4096 --teacher.mem_tokens=16 --teacher.mem_rms_norm=True
--teacher.mem_fsq=None --teacher.d_model=256 --teacher.encoder_depth=8
--teacher.decoder_depth=4 --teacher.n_heads=8 --teacher.rotary_pos_emb=True
--teacher.use_rmsnorm=True --lr=3e-05 --lr_schedule="warmup_cosine" --weight_decay=0.01
--adam_betas 0.9 0.95 --batch_size=32 --clip_grad_norm=1.0 --dmt.T=576 --dmt.Td=256
--dmt.Tc=256 --dmt.Tf=64 --dmt.k=16 --dmt.coef_dec=1.0 --dmt.coef_dyn=10.0
--dmt.coef_unif=0.01 --dmt.coef_readout=1.0 --dmt.detach_readout=True --dmt.detach_rnn=False
--dmt.hot_rnn=True --dmt.hot_teacher_encoder=False --dmt.hot_teacher_decoder=False)";

/// The words that a shell makes of a line, which quotes whole values alone.
TrainConfig parse(const std::string& method, std::string line) {
  std::erase(line, '"');
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_train_flags(method, static_cast<int>(argv.size()), argv.data()).value();
}

const json kModel = {{"vocab_size", 256},    {"mem_size", 4096},   {"mem_tokens", 16},
                     {"mem_rms_norm", true}, {"mem_fsq", nullptr}, {"d_model", 256},
                     {"decoder_depth", 4},   {"n_heads", 8},       {"rotary_pos_emb", true}};

json with(json object, const char* key, const json& value) {
  object[key] = value;
  return object;
}

/// Every setting, those that the line does not give at our defaults.
json expected(const std::string& method, const std::string& data) {
  const std::string run = "./runs/smt_" + data + "_0/";
  const bool is_smt = method == "smt";
  json config = {{"method", method},
                 {"rnn", with(kModel, "rnn_depth", 8)},
                 {"teacher", with(kModel, "encoder_depth", 8)}};
  config["run"] = {{"dataset", data},
                   {"save_dir", is_smt ? run : run + "/ft_dmt_256"},
                   {"overwrite", false},
                   {"resume", "never"},
                   {"dry_run", false},
                   {"seed", 0},
                   {"n_iters", is_smt ? 150'000 : 1'500},
                   {"max_seconds", 0.0},
                   {"log_every", is_smt ? 1'000 : 10},
                   {"test_windows", 64},
                   {"ckpt_every", is_smt ? json() : json(300)},
                   {"keep", 3},
                   {"load_rnn_path", is_smt ? json() : json(run + "/rnn.pkl")},
                   {"load_teacher_path", is_smt ? json() : json(run + "/teacher.pkl")},
                   {"threads", 0}};
  config["optimizer"] = {{"lr", is_smt ? 3e-4 : 3e-5},
                         {"lr_schedule", is_smt ? "warmup_constant" : "warmup_cosine"},
                         {"weight_decay", 0.01},
                         {"adam_betas", {0.9, 0.95}},
                         {"batch_size", is_smt ? 128 : 32},
                         {"grad_accum_steps", 1},
                         {"clip_grad_norm", 1.0}};
  if (is_smt) {
    config["smt"] = {{"T", 320},
                     {"Tc", 256},
                     {"Tf", 64},
                     {"gamma", 1.0},
                     {"coef_dec", 1.0},
                     {"coef_dyn", 0.1},
                     {"coef_unif", 0.001},
                     {"hot_rnn", true},
                     {"unif_over_tokens", true},
                     {"detach_rnn", false},
                     {"hot_teacher", true}};
  } else {
    config["dmt"] = {{"T", 576},
                     {"Td", 256},
                     {"Tc", 256},
                     {"Tf", 64},
                     {"k", 16},
                     {"coef_dec", 1.0},
                     {"coef_dyn", 10.0},
                     {"coef_unif", 0.01},
                     {"coef_readout", 1.0},
                     {"detach_readout", true},
                     {"grad", "detach"},
                     {"hot_rnn", true},
                     {"hot_teacher_encoder", false},
                     {"hot_teacher_decoder", false}};
  }
  return config;
}

TEST(PublishedCommands, smt) {
  EXPECT_EQ(to_json(parse("smt", kSmtMnist)), expected("smt", "mnist"));
  EXPECT_EQ(to_json(parse("smt", kSmtTinystories)), expected("smt", "tinystories"));
}

TEST(PublishedCommands, dmt) {
  EXPECT_EQ(to_json(parse("dmt", kDmtMnist)), expected("dmt", "mnist"));
  EXPECT_EQ(to_json(parse("dmt", kDmtTinystories)), expected("dmt", "tinystories"));
}

}  // namespace
}  // namespace loopless
