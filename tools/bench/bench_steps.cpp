// Training steps whole: forward, backward, clipping and AdamW, on random tokens.
//
// Floor: FLOP of all matrix products, nothing pruned (train/flops.h).
#include <memory>

#include "tools/bench/suite.h"
#include "train/bptt.h"
#include "train/dmt.h"
#include "train/flops.h"
#include "train/optimizer.h"
#include "train/smt.h"

namespace loopless::bench {
namespace {

/// One size of everything: the models, and the batch and lengths of each method.
struct Sizes {
  Size size;
  int64_t width, heads, memory_tokens;               // C, H, K
  int64_t encoder_depth, decoder_depth, cell_depth;  // layers
  int64_t context, future;                           // Tc, Tf
  int64_t smt_batch;
  int64_t dmt_batch, rollout, label_every;  // B, Td, k
  int64_t bptt_batch, unrolled;             // B, T
};
constexpr Sizes kSizes[] = {
    {.size = Size::kPaper,
     .width = 256,
     .heads = 8,
     .memory_tokens = 16,
     .encoder_depth = 8,
     .decoder_depth = 4,
     .cell_depth = 8,
     .context = 256,
     .future = 64,
     .smt_batch = 8,
     .dmt_batch = 2,
     .rollout = 256,
     .label_every = 16,
     .bptt_batch = 2,
     .unrolled = 256},
    {.size = Size::kDemo,
     .width = 128,
     .heads = 4,
     .memory_tokens = 8,
     .encoder_depth = 4,
     .decoder_depth = 2,
     .cell_depth = 4,
     .context = 128,
     .future = 32,
     .smt_batch = 32,
     .dmt_batch = 8,
     .rollout = 64,
     .label_every = 8,
     .bptt_batch = 8,
     .unrolled = 64},
    {.size = Size::kQuick,
     .width = 64,
     .heads = 2,
     .memory_tokens = 8,
     .encoder_depth = 2,
     .decoder_depth = 2,
     .cell_depth = 2,
     .context = 64,
     .future = 16,
     .smt_batch = 32,
     .dmt_batch = 32,
     .rollout = 64,
     .label_every = 8,
     .bptt_batch = 32,
     .unrolled = 64},
};

template <class Config>
Config model_config(const Sizes& sizes) {
  Config config;
  config.d_model = sizes.width;
  config.n_heads = sizes.heads;
  config.mem_tokens = sizes.memory_tokens;
  config.mem_size = sizes.width * sizes.memory_tokens;
  config.decoder_depth = sizes.decoder_depth;
  return config;
}

TeacherConfig teacher_config(const Sizes& sizes) {
  TeacherConfig config = model_config<TeacherConfig>(sizes);
  config.encoder_depth = sizes.encoder_depth;
  return config;
}

RnnConfig rnn_config(const Sizes& sizes) {
  RnnConfig config = model_config<RnnConfig>(sizes);
  config.rnn_depth = sizes.cell_depth;
  return config;
}

/// What a run keeps between steps, and one step.
struct Training {
  std::unique_ptr<Teacher> teacher;  // not part of BPTT, and then left alone
  std::unique_ptr<Rnn> rnn;
  std::unique_ptr<Method> method;
  std::unique_ptr<FlatParameters> parameters;
  std::unique_ptr<Optimizer> optimizer;
  Windows windows;

  void step() {
    parameters->zero_grads();
    const LossTerms terms =
        method->run(windows, {0, windows.x.size(0)}, {0, optimizer->steps_done()});
    optimizer->step(terms[0].second);
  }
};

/// `make_method` gets the training with its models made.
template <class MakeMethod>
std::function<void()> prepare(const Sizes& sizes, int64_t batch, const MakeMethod& make_method) {
  const auto training = std::make_shared<Training>();
  training->teacher = std::make_unique<Teacher>(teacher_config(sizes), 0);
  training->rnn = std::make_unique<Rnn>(rnn_config(sizes), 0);
  training->method = make_method(*training);
  training->parameters = std::make_unique<FlatParameters>(training->method->groups());
  training->optimizer = std::make_unique<Optimizer>(*training->parameters, OptimizerConfig{}, 1000);
  const int64_t length = training->method->window_length();
  const int64_t vocabulary = rnn_config(sizes).vocab_size;
  training->windows = {random_ids({batch, length}, vocabulary),
                       random_ids({batch, length}, vocabulary)};
  return [training] { training->step(); };
}

void add_smt(Suite& suite, const Sizes& sizes) {
  SmtConfig config;
  config.Tc = sizes.context;
  config.Tf = sizes.future;
  config.T = config.Tc + config.Tf;
  const double work = smt_flop(teacher_config(sizes), rnn_config(sizes), config, sizes.smt_batch);
  suite.add({std::string("smt/") + name_of(sizes.size), sizes.size, flop(work), [=] {
               return prepare(sizes, sizes.smt_batch, [&](Training& t) {
                 return std::make_unique<Smt>(*t.teacher, *t.rnn, config);
               });
             }});
}

void add_dmt(Suite& suite, const Sizes& sizes) {
  DmtConfig config;
  config.Tc = sizes.context;
  config.Td = sizes.rollout;
  config.k = sizes.label_every;
  config.T = config.Tc + config.Td - 1;
  const double work = dmt_flop(teacher_config(sizes), rnn_config(sizes), config, sizes.dmt_batch);
  suite.add({std::string("dmt/") + name_of(sizes.size), sizes.size, flop(work), [=] {
               return prepare(sizes, sizes.dmt_batch, [&](Training& t) {
                 return std::make_unique<Dmt>(*t.teacher, *t.rnn, config);
               });
             }});
}

void add_bptt(Suite& suite, const Sizes& sizes) {
  BpttConfig config;
  config.T = sizes.unrolled;
  const double work = bptt_flop(rnn_config(sizes), config, sizes.bptt_batch);
  suite.add({std::string("bptt/") + name_of(sizes.size), sizes.size, flop(work), [=] {
               return prepare(sizes, sizes.bptt_batch,
                              [&](Training& t) { return std::make_unique<Bptt>(*t.rnn, config); });
             }});
}

const Registration registration([](Suite& suite) {
  for (const Sizes& sizes : kSizes) {
    add_smt(suite, sizes);
    add_dmt(suite, sizes);
    add_bptt(suite, sizes);
  }
});

}  // namespace
}  // namespace loopless::bench
