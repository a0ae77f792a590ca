#include "train/flags.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>

#include "tensor/file.h"
#include "train/checkpoint_files.h"
#include "train/toml_config.h"

namespace loopless {

Flags::Flags(const std::string& program, const std::string& description)
    : app_(description, program) {
  app_.set_help_flag("--help,-h", "show this help");
  app_.get_formatter()->column_width(46);
  app_.allow_extras();  // `parse` says which word is one too many
}

void Flags::add_config_file() {
  app_.set_config("--config", "", "TOML file of settings; flags go before it")
      ->option_text("FILE")
      ->type_name("a file")
      ->configurable(false);
  app_.config_formatter(std::make_shared<TomlConfig>(app_, keys_in_file_));
}

CLI::Option* Flags::add_option(const Setting& setting, const std::string& default_text,
                               const std::string& expected_text, CLI::callback_t read) {
  CLI::Option* option = app_.add_option("--" + setting.flag(), std::move(read), setting.help);
  // Taking all words, also of a repeated flag, lets `read` say what is wrong with them.
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  option->group(setting.section.title);
  option->type_name(expected_text);
  option->option_text(setting.unit + (default_text.empty() ? "" : " [" + default_text + "]"));
  return option;
}

std::string Flags::place_of(const std::string& flag) const {
  if (!keys_in_file_.contains(flag)) return "--" + flag;
  return app_.get_config_ptr()->as<std::string>() + ": " + flag;
}

namespace {

std::string why_it_cannot_be_read(const std::string& path) try {
  const MappedFile file(path);
  return path + ": cannot be read";
} catch (const Error& error) {
  return error.what();
}

}  // namespace

bool Flags::parse(int argc, const char* const* argv) try {
  app_.parse(argc, argv);
  const Words extra = app_.remaining();
  if (extra.empty()) return true;
  const std::string& word = extra.front();
  if (word.rfind("-", 0) == 0)
    throw UsageError(one_line(word + ": no such flag; --help lists them"));
  throw UsageError(
      one_line("'" + word + "': one word too many; settings are flags, and --help lists them"));
} catch (const CLI::CallForHelp&) {
  std::cout << app_.help();
  return false;
} catch (const CLI::ArgumentMismatch& mismatch) {  // "--lr: 1 required ... missing"
  const std::string message = mismatch.what();
  const std::string flag = message.substr(0, message.find(':'));
  throw UsageError(
      one_line(flag + ": a value must follow: " + app_.get_option(flag)->get_type_name()));
} catch (const CLI::FileError& error) {
  const std::string message = error.what();
  const std::string path = message.substr(0, message.find(" was not readable"));
  throw UsageError(one_line("--config: " + why_it_cannot_be_read(path)));
} catch (const CLI::ParseError& error) {
  throw UsageError(one_line(error.what()));
} catch (const Error& error) {  // of a value, or of the file of --config
  throw UsageError(one_line(error.what()));
}

// --- the flags of the trainers ------------------------------------------------------------------

namespace {

namespace fs = std::filesystem;

/// Settings of the reference that have one value here, or another name.
struct Compatibility {
  bool rnn_use_rmsnorm = true;
  bool teacher_use_rmsnorm = true;
  std::optional<bool> detach_rnn;

  void add_to(Flags& flags, const std::string& method) {
    constexpr const char* kOnlyTrue = "only True is accepted";
    flags.add({kRnn, "use_rmsnorm", kBool, "True|False", kOnlyTrue}, rnn_use_rmsnorm);
    if (method != "bptt") {
      flags.add({kTeacher, "use_rmsnorm", kBool, "True|False", kOnlyTrue}, teacher_use_rmsnorm);
    }
    if (method != "dmt") return;
    flags.add({kDmt, "detach_rnn", kBool, "True|False",
               "the reference's name: False is --dmt.grad detach, True is full_bptt"},
              detach_rnn);
  }
};

template <class... Parts>
void require(bool holds, const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  if (!holds) throw UsageError(message.str());
}

void apply(const Compatibility& given, const Flags& flags, TrainConfig& config) {
  const char* only_norm = ".use_rmsnorm: must be True, got False: only RMSNorm is there";
  require(given.rnn_use_rmsnorm, "--rnn", only_norm);
  require(given.teacher_use_rmsnorm, "--teacher", only_norm);
  if (!given.detach_rnn) return;

  // The reference's flag is inverted: its False cuts the gradient at every step.
  const DmtGrad grad = *given.detach_rnn ? DmtGrad::kFullBptt : DmtGrad::kDetach;
  require(!flags.has("dmt.grad") || config.dmt.grad == grad,
          "--dmt.detach_rnn: ", *given.detach_rnn ? "True" : "False", " stands for --dmt.grad ",
          name_of(grad), ", got --dmt.grad ", name_of(config.dmt.grad), " too");
  config.dmt.grad = grad;
}

// --- settings that must fit each other ----------------------------------------------------------

void check_model(const char* name, const ModelConfig& model) {
  require(model.mem_size == model.mem_tokens * model.d_model, "--", name,
          ".mem_size: must be mem_tokens * d_model = ", model.mem_tokens, " * ", model.d_model,
          " = ", model.mem_tokens * model.d_model, ", got ", model.mem_size);
}

/// `is_copied`: whether the readout starts as a copy of the teacher's decoder.
void check_pair(const RnnConfig& rnn, const TeacherConfig& teacher, bool is_copied) {
  const auto equal = [](const char* name, int64_t of_rnn, int64_t of_teacher) {
    require(of_rnn == of_teacher, "--rnn.", name, ": must be --teacher.", name, ", ", of_teacher,
            ", got ", of_rnn);
  };
  equal("vocab_size", rnn.vocab_size, teacher.vocab_size);
  equal("mem_tokens", rnn.mem_tokens, teacher.mem_tokens);
  equal("d_model", rnn.d_model, teacher.d_model);
  if (!is_copied) return;
  equal("decoder_depth", rnn.decoder_depth, teacher.decoder_depth);
  equal("n_heads", rnn.n_heads, teacher.n_heads);
  equal("rotary_pos_emb", rnn.rotary_pos_emb, teacher.rotary_pos_emb);
}

/// `rows` of a memory, or of memories, that L_unif compares in a piece.
void check_smt(const SmtConfig& smt, int64_t rows) {
  require(smt.coef_unif == 0 || rows >= 2,
          "--smt.coef_unif: must be 0 where a piece of the batch holds one memory token: there is "
          "no second one to compare it with; got ",
          smt.coef_unif);
  require(smt.T >= smt.Tc + smt.Tf, "--smt.T: must be at least Tc + Tf = ", smt.Tc, " + ", smt.Tf,
          " = ", smt.Tc + smt.Tf, ", got ", smt.T);
  require(smt.hot_rnn || smt.hot_teacher,
          "--smt.hot_rnn: must be True unless --smt.hot_teacher is, got False for both: nothing "
          "would be trained");
}

void check_dmt(const DmtConfig& dmt) {
  require(dmt.T >= dmt.Tc + dmt.Td - 1, "--dmt.T: must be at least Tc + Td - 1 = ", dmt.Tc, " + ",
          dmt.Td, " - 1 = ", dmt.Tc + dmt.Td - 1, ", got ", dmt.T);
  require(dmt.k <= dmt.Td, "--dmt.k: must be at most Td = ", dmt.Td, ", got ", dmt.k);
  if (is_hot_teacher(dmt)) {
    const int64_t last = (dmt.Td - 1) / dmt.k * dmt.k;  // label time
    require(dmt.T >= dmt.Tc + last + dmt.Tf - 1,
            "--dmt.T: must be at least Tc + Tf - 1 + the last "
            "label time, ",
            dmt.Tc, " + ", dmt.Tf, " - 1 + ", last, " = ", dmt.Tc + last + dmt.Tf - 1,
            ", where the teacher is hot, got ", dmt.T);
  }
  require(dmt.hot_rnn, "--dmt.hot_rnn: must be True, got False: nothing would be trained");
}

/// The file that a name of weights stands for; the name itself if there is none.
std::string resolved(const std::string& path) try {
  return weights_file(path);
} catch (const Error&) {
  return path;
}

/// A checkpoint to load must not be among what --overwrite removes.
void check_overwrite(const RunConfig& run, const char* flag,
                     const std::optional<std::string>& path) {
  if (!run.overwrite || !path) return;
  const auto full = [](const std::string& name) {
    return fs::weakly_canonical(fs::absolute(name));
  };
  const fs::path inside = full(resolved(*path)).lexically_relative(full(run.save_dir));
  const std::string first = inside.begin()->string();
  require(first != "." && first != "checkpoints" && first != "samples" && first != "figures",
          "--overwrite: would remove the run in --save_dir, ", run.save_dir, ", which ", flag,
          " is to be loaded from");
}

}  // namespace

void check_dataset_flag(const std::string& spec) try {
  check_dataset_form(spec);
} catch (const Error& error) {
  throw UsageError(one_line(std::string("--") + error.what()));
}

namespace {

void check_config(const TrainConfig& config) {
  const RunConfig& run = config.run;
  const OptimizerConfig& optimizer = config.optimizer;
  require(!run.dataset.empty(), "--dataset: is missing; ", kDatasetForms);
  check_dataset_flag(run.dataset);
  require(!run.save_dir.empty(), "--save_dir: is missing; the folder where the run is written");
  require(!run.overwrite || run.resume == "never", "--overwrite: contradicts --resume ", run.resume,
          ": one replaces the run in --save_dir, the other continues it");
  check_overwrite(run, "--load_rnn_path", run.load_rnn_path);
  check_overwrite(run, "--load_teacher_path", run.load_teacher_path);
  require(optimizer.batch_size % optimizer.grad_accum_steps == 0,
          "--grad_accum_steps: must divide --batch_size, ", optimizer.batch_size, ", got ",
          optimizer.grad_accum_steps);
  check_model("rnn", config.rnn);
  if (config.method == "bptt") return;
  check_model("teacher", config.teacher);
  check_pair(config.rnn, config.teacher, config.method == "smt");
  if (config.method == "smt") {
    check_smt(config.smt, optimizer.batch_size / optimizer.grad_accum_steps *
                              (config.smt.unif_over_tokens ? config.rnn.mem_tokens : 1));
  }
  if (config.method == "dmt") check_dmt(config.dmt);
}

const char* description_of(const std::string& method) {
  if (method == "smt") return "Trains a teacher and an RNN by supervised memory training (SMT).";
  if (method == "dmt") return "Trains an RNN on its own memories against a frozen teacher (DMT).";
  return "Trains an RNN by backpropagation through time (BPTT).";
}

}  // namespace

std::optional<TrainConfig> parse_train_flags(const std::string& method, int argc,
                                             const char* const* argv) {
  TrainConfig config = default_config(method);
  Compatibility compatibility;
  Flags flags("train_" + method, description_of(method));
  for_each_setting(config, [&](const Setting& setting, auto& value) { flags.add(setting, value); });
  flags.add_config_file();
  compatibility.add_to(flags, method);
  if (!flags.parse(argc, argv)) return std::nullopt;
  apply(compatibility, flags, config);
  check_config(config);
  config.run.resume_command = resume_command(argc, argv);
  // Of the command line it has been dropped; a file may still say it.
  if (config.run.overwrite) config.run.resume_command += " --overwrite False";
  return config;
}

namespace {

std::string shell_word(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_-+=./:,@%", c);
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string resume_command(int argc, const char* const* argv) {
  std::string command;
  const char* dropped = nullptr;  // the flag whose value may follow
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--resume" || word == "--overwrite") {
      dropped = argv[i];
    } else if (word.starts_with("--resume=") || word.starts_with("--overwrite=")) {
      dropped = nullptr;
    } else if (dropped && !word.starts_with("--")) {
      dropped = nullptr;
    } else {
      dropped = nullptr;
      command += shell_word(word) + " ";
    }
  }
  return command + "--resume auto";
}

int run_program(const char* program, const std::function<int()>& body) try {
  return body();
} catch (const UsageError& error) {
  std::fprintf(stderr, "%s: %s\n", program, one_line(error.what()).c_str());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", program, one_line(error.what()).c_str());
  return 1;
}

}  // namespace loopless
