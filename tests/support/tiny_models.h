/// Models small enough that a test takes no time; random weights.
#pragma once

#include <memory>
#include <string>

#include "train/checkpoint.h"

namespace loopless::testing {

/// Sizes of the models of a run that takes no time.
inline void set_tiny_sizes(TrainConfig& config, int64_t vocab_size = 128) {
  ModelConfig size;
  size.vocab_size = vocab_size;
  size.d_model = 8;
  size.mem_tokens = 2;
  size.mem_size = 16;
  size.n_heads = 1;
  size.decoder_depth = 1;
  static_cast<ModelConfig&>(config.rnn) = size;
  static_cast<ModelConfig&>(config.teacher) = size;
  config.rnn.rnn_depth = config.teacher.encoder_depth = 1;
}

/// The models of a run of `method` ("smt", "dmt" or "bptt") with Tc = T = `context`.
inline Models tiny_models(const std::string& method, int64_t context, int64_t vocab_size = 128) {
  Models models;
  models.step = 3;
  TrainConfig& config = models.config;
  config.method = method;
  config.run.dataset = "tiny";
  config.run.save_dir = "tiny";
  config.smt.Tc = config.dmt.Tc = config.bptt.T = context;
  set_tiny_sizes(config, vocab_size);
  models.rnn = std::make_unique<Rnn>(config.rnn, 1);
  if (method != "bptt") models.teacher = std::make_unique<Teacher>(config.teacher, 2);
  return models;
}

}  // namespace loopless::testing
