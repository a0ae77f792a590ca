/// Every setting of a training run, once: its place, what it may be, its unit and its meaning.
/// The command line, TOML files and config.json are all made from this list.
#pragma once

#include <limits>
#include <string>

#include "train/config.h"
#include "train/data/dataset.h"

namespace loopless {

/// What a value may be: in words, for messages and help, and for numbers as bounds.
struct Range {
  const char* text;
  double low = std::numeric_limits<double>::lowest();
  double high = std::numeric_limits<double>::max();
  bool is_open_low = false;   // low itself is outside
  bool is_open_high = false;  // high itself is outside
};

// Sizes end at 2^31 - 1: the product of any two is still an int64_t.
inline constexpr double kMaxCount = 2147483647;
inline constexpr Range kCount{"a whole number from 1 to 2147483647", 1, kMaxCount};
inline constexpr Range kCountOrZero{"a whole number from 0 to 2147483647", 0, kMaxCount};
inline constexpr Range kSeed{"a whole number from 0 to 18446744073709551615"};
inline constexpr Range kNotNegative{"a number of at least 0", 0};
// Smaller steps than f32 has.
inline constexpr Range kQuantum{"a number of at least 1e-30", 1e-30, 1e30};
inline constexpr Range kPositive{"a number above 0", 0, std::numeric_limits<double>::max(), true};
inline constexpr Range kUnitInterval{"a number from 0 to 1", 0, 1};
inline constexpr Range kBetas{"two numbers in [0, 1)", 0, 1, false, true};
inline constexpr Range kThreads{"a whole number from 0 to 4096", 0, 4096};
inline constexpr Range kBool{"True or False"};
inline constexpr Range kText{"a text that is not empty"};
inline constexpr Range kPath{"a path"};
inline constexpr Range kResume{"auto, never or the path of a checkpoint"};
inline constexpr Range kSchedules{"constant, warmup_constant or warmup_cosine"};
inline constexpr Range kDmtGrads{"detach or full_bptt"};

/// A group of settings: an object of config.json, a heading of the help.
struct Section {
  const char* key;
  const char* title;
  bool is_prefixed;  // whether its flags begin with the key: --smt.Tc, but --lr
};
inline constexpr Section kRun{"run", "Run", false};
inline constexpr Section kOptimizer{"optimizer", "Optimizer", false};
inline constexpr Section kTeacher{"teacher", "Teacher (encoder and decoder)", true};
inline constexpr Section kRnn{"rnn", "RNN (cell and readout)", true};
inline constexpr Section kSmt{"smt", "SMT", true};
inline constexpr Section kDmt{"dmt", "DMT", true};
inline constexpr Section kBptt{"bptt", "BPTT", true};

struct Setting {
  Section section;
  const char* name;
  Range range;
  const char* unit;
  const char* help;

  /// "smt.Tc", "lr": the name on the command line, without dashes, and in TOML files.
  std::string flag() const {
    return section.is_prefixed ? std::string(section.key) + "." + name : name;
  }
};

namespace detail {

template <class Run, class Visit>
void visit_run(Run& c, bool has_teacher, Visit& visit) {
  visit(Setting{kRun, "dataset", kText, "NAME", kDatasetForms}, c.dataset);
  visit(Setting{kRun, "save_dir", kPath, "FOLDER", "where the run is written"}, c.save_dir);
  visit(Setting{kRun, "overwrite", kBool, "True|False", "replace a run that save_dir holds"},
        c.overwrite);
  visit(Setting{kRun, "resume", kResume, "auto|never|PATH",
                "auto: go on from the newest whole checkpoint of save_dir, if there is one; PATH: "
                "from that one"},
        c.resume);
  visit(Setting{kRun, "dry_run", kBool, "True|False",
                "print model, memory, FLOP and time of a step, and end"},
        c.dry_run);
  visit(Setting{kRun, "seed", kSeed, "number", "of initial values and windows"}, c.seed);
  visit(Setting{kRun, "n_iters", kCount, "steps", "length of the run"}, c.n_iters);
  visit(Setting{kRun, "max_seconds", kNotNegative, "seconds",
                "wall time after which the run ends early; 0: none"},
        c.max_seconds);
  visit(Setting{kRun, "log_every", kCount, "steps", "between log lines"}, c.log_every);
  visit(Setting{kRun, "test_windows", kCountOrZero, "windows",
                "fixed windows of the test loss; 0: no test loss"},
        c.test_windows);
  visit(Setting{kRun, "ckpt_every", kCount, "steps", "between checkpoints; None: only the last"},
        c.ckpt_every);
  visit(Setting{kRun, "keep", kCount, "checkpoints",
                "newest ones kept, besides the one with the best test loss; None: all"},
        c.keep);
  visit(Setting{kRun, "load_rnn_path", kPath, "FILE", "checkpoint that the RNN starts from"},
        c.load_rnn_path);
  if (has_teacher) {
    visit(Setting{kRun, "load_teacher_path", kPath, "FILE",
                  "checkpoint that the teacher starts from"},
          c.load_teacher_path);
  }
  visit(Setting{kRun, "threads", kThreads, "threads", "of the CPU; 0: all it has"}, c.threads);
}

template <class Optimizer, class Visit>
void visit_optimizer(Optimizer& c, Visit& visit) {
  visit(Setting{kOptimizer, "lr", kNotNegative, "rate", "learning rate"}, c.lr);
  visit(Setting{kOptimizer, "lr_schedule", kSchedules, "NAME",
                "constant, warmup_constant, warmup_cosine; warm-up: 1 % of the steps"},
        c.lr_schedule);
  visit(Setting{kOptimizer, "weight_decay", kNotNegative, "rate", "decoupled weight decay"},
        c.weight_decay);
  visit(Setting{kOptimizer, "adam_betas", kBetas, "b1 b2", "decay of the two moments"},
        c.adam_betas);
  visit(Setting{kOptimizer, "batch_size", kCount, "windows", "in a step"}, c.batch_size);
  visit(Setting{kOptimizer, "grad_accum_steps", kCount, "pieces",
                "that a batch is computed in; divides batch_size"},
        c.grad_accum_steps);
  visit(Setting{kOptimizer, "clip_grad_norm", kPositive, "norm",
                "largest gradient norm, of RNN and teacher apart"},
        c.clip_grad_norm);
}

template <class Model, class Visit>
void visit_model(Section section, Model& c, Visit& visit) {
  visit(Setting{section, "vocab_size", kCount, "tokens", "different tokens"}, c.vocab_size);
  visit(Setting{section, "mem_size", kCount, "floats", "in a memory: mem_tokens * d_model"},
        c.mem_size);
  visit(Setting{section, "mem_tokens", kCount, "tokens", "in a memory"}, c.mem_tokens);
  visit(Setting{section, "mem_rms_norm", kBool, "True|False",
                "scale memory tokens to root-mean-square one"},
        c.mem_rms_norm);
  visit(Setting{section, "mem_fsq", kQuantum, "quantum",
                "round memories to its multiples; None: do not"},
        c.mem_fsq);
  visit(Setting{section, "d_model", kCount, "channels", "width"}, c.d_model);
  visit(Setting{section, "decoder_depth", kCount, "layers", "of the decoder or readout"},
        c.decoder_depth);
  visit(Setting{section, "n_heads", kCount, "heads", "of attention, 64 channels each"}, c.n_heads);
  visit(Setting{section, "rotary_pos_emb", kBool, "True|False", "rotary position embedding"},
        c.rotary_pos_emb);
}

template <class Smt, class Visit>
void visit_smt(Smt& c, Visit& visit) {
  visit(Setting{kSmt, "T", kCount, "tokens", "in a window, at least Tc + Tf"}, c.T);
  visit(Setting{kSmt, "Tc", kCount, "tokens", "of context that the encoder reads"}, c.Tc);
  visit(Setting{kSmt, "Tf", kCount, "tokens", "of future that the decoder predicts"}, c.Tf);
  visit(Setting{kSmt, "gamma", kUnitInterval, "factor", "of the decoder's loss per token ahead"},
        c.gamma);
  visit(Setting{kSmt, "coef_dec", kNotNegative, "weight", "of the decoder's loss"}, c.coef_dec);
  visit(Setting{kSmt, "coef_dyn", kNotNegative, "weight", "of the dynamics loss"}, c.coef_dyn);
  visit(Setting{kSmt, "coef_unif", kNotNegative, "weight", "of the uniformity loss"}, c.coef_unif);
  visit(Setting{kSmt, "unif_over_tokens", kBool, "True|False",
                "uniformity of memory tokens, not of whole memories"},
        c.unif_over_tokens);
  visit(Setting{kSmt, "detach_rnn", kBool, "True|False",
                "no gradient of the dynamics loss into the encoder"},
        c.detach_rnn);
  visit(Setting{kSmt, "hot_rnn", kBool, "True|False", "train the RNN"}, c.hot_rnn);
  visit(Setting{kSmt, "hot_teacher", kBool, "True|False", "train the teacher"}, c.hot_teacher);
}

template <class Dmt, class Visit>
void visit_dmt(Dmt& c, Visit& visit) {
  visit(Setting{kDmt, "T", kCount, "tokens", "in a window, at least Tc + Td - 1"}, c.T);
  visit(Setting{kDmt, "Td", kCount, "steps", "of the rollout"}, c.Td);
  visit(Setting{kDmt, "Tc", kCount, "tokens", "of context that the encoder reads"}, c.Tc);
  visit(Setting{kDmt, "Tf", kCount, "tokens",
                "of future in the decoder's loss, which only a hot teacher has"},
        c.Tf);
  visit(Setting{kDmt, "k", kCount, "steps", "between the encoder's labels, at most Td"}, c.k);
  visit(Setting{kDmt, "coef_dec", kNotNegative, "weight",
                "of the decoder's loss, which only a hot teacher has"},
        c.coef_dec);
  visit(Setting{kDmt, "coef_dyn", kNotNegative, "weight", "of the dynamics loss"}, c.coef_dyn);
  visit(Setting{kDmt, "coef_unif", kNotNegative, "weight",
                "of the uniformity loss, which only a hot teacher has"},
        c.coef_unif);
  visit(Setting{kDmt, "coef_readout", kNotNegative, "weight", "of the readout's loss"},
        c.coef_readout);
  visit(Setting{kDmt, "detach_readout", kBool, "True|False",
                "no gradient of the readout's loss into the cell"},
        c.detach_readout);
  visit(Setting{kDmt, "grad", kDmtGrads, "NAME",
                "detach: gradients one step deep; full_bptt: through the rollout"},
        c.grad);
  visit(Setting{kDmt, "hot_rnn", kBool, "True|False", "train the RNN; only True is accepted"},
        c.hot_rnn);
  visit(Setting{kDmt, "hot_teacher_encoder", kBool, "True|False",
                "also train the teacher's embedding and encoder"},
        c.hot_teacher_encoder);
  visit(
      Setting{kDmt, "hot_teacher_decoder", kBool, "True|False", "also train the teacher's decoder"},
      c.hot_teacher_decoder);
}

template <class Bptt, class Visit>
void visit_bptt(Bptt& c, Visit& visit) {
  visit(Setting{kBptt, "T", kCount, "steps", "of the recurrence; tokens in a window"}, c.T);
  visit(Setting{kBptt, "truncate", kCountOrZero, "steps",
                "after which the gradient is cut; 0: never"},
        c.truncate);
  visit(Setting{kBptt, "recompute", kCountOrZero, "steps",
                "of a segment that backward runs again; 0: keep all"},
        c.recompute);
}

}  // namespace detail

/// Calls visit(setting, field) for each setting that c.method ("smt", "dmt" or "bptt") has.
/// `Config` is TrainConfig or const TrainConfig.
template <class Config, class Visit>
void for_each_setting(Config& c, Visit&& visit) {
  const bool has_teacher = c.method != "bptt";
  detail::visit_run(c.run, has_teacher, visit);
  detail::visit_optimizer(c.optimizer, visit);
  detail::visit_model(kRnn, c.rnn, visit);
  visit(Setting{kRnn, "rnn_depth", kCount, "layers", "of the cell"}, c.rnn.rnn_depth);
  if (has_teacher) {
    detail::visit_model(kTeacher, c.teacher, visit);
    visit(Setting{kTeacher, "encoder_depth", kCount, "layers", "of the encoder"},
          c.teacher.encoder_depth);
  }
  if (c.method == "smt") detail::visit_smt(c.smt, visit);
  if (c.method == "dmt") detail::visit_dmt(c.dmt, visit);
  if (c.method == "bptt") detail::visit_bptt(c.bptt, visit);
}

}  // namespace loopless
