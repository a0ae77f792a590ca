#include "models/rnn.h"

#include "ops/concat_tokens/concat_tokens.h"
#include "ops/embedding/embedding.h"

namespace loopless {
namespace {

const RnnConfig& checked(const RnnConfig& config) {
  check_config(config, "rnn");
  CHECK(config.rnn_depth > 0, "rnn.rnn_depth: must be positive, got ", config.rnn_depth);
  return config;
}

constexpr uint64_t kRnnSalt = 0x726e6e00;  // each model draws from seeds of its own

}  // namespace

Rnn::Rnn(const RnnConfig& config, uint64_t seed)
    : Rnn(checked(config), Initializer(seed ^ kRnnSalt)) {}

Rnn::Rnn(const RnnConfig& config, Initializer init)
    : config_(config),
      embed_weight_(init.normal({config.vocab_size, config.d_model})),
      cell_({config.d_model, config.n_heads, config.rnn_depth, config.rotary_pos_emb}, init),
      readout_(config, init) {}

Tensor Rnn::step(const Tensor& memory, const Tensor& ids) const {
  const Tensor tokens = concat_tokens(memory, embedding(ids, embed_weight_));
  TransformerCall call;
  call.kept = {0, config_.mem_tokens};
  return memory_of(cell_.forward(tokens, call), config_);
}

Tensor Rnn::readout(const Tensor& memory) const {
  const Tensor logits = readout_.forward(memory, {config_.mem_tokens - 1, 1});
  return reshape(logits, {memory.size(0), config_.vocab_size});
}

Tensor Rnn::empty_memory(int64_t batch) const {
  return Tensor::zeros({batch, config_.mem_tokens, config_.d_model});
}

NamedParameters Rnn::cell_parameters() {
  NamedParameters list;
  list.push_back({"rnn.embed.weight", &embed_weight_});
  cell_.list_parameters("rnn.cell", list);
  return list;
}

NamedParameters Rnn::readout_parameters() {
  NamedParameters list;
  readout_.list_parameters("rnn.readout", list);
  return list;
}

NamedParameters Rnn::parameters() {
  NamedParameters list = cell_parameters();
  readout_.list_parameters("rnn.readout", list);
  return list;
}

NamedParameters Rnn::decoder_parameters() {
  NamedParameters list;
  readout_.list_parameters("decoder", list);
  return list;
}

}  // namespace loopless
