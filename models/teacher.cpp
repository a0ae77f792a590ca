#include "models/teacher.h"

#include <vector>

#include "ops/concat_tokens/concat_tokens.h"
#include "ops/embedding/embedding.h"
#include "ops/padding_mask/padding_mask.h"

namespace loopless {
namespace {

/// Checks before anything is built with the sizes.
const TeacherConfig& checked(const TeacherConfig& config) {
  check_config(config, "teacher");
  CHECK(config.encoder_depth > 0, "teacher.encoder_depth: must be positive, got ",
        config.encoder_depth);
  return config;
}

/// 0 ... K-1 in each of B rows: the ids of the register tokens.
Tensor register_ids(int64_t batch, int64_t count) {
  std::vector<int32_t> ids(batch * count);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i % count);
  return Tensor::from({batch, count}, ids);
}

/// Each model draws from seeds of its own.
constexpr uint64_t kTeacherSalt = 0x7465616368657200;

Initializer initializer(uint64_t seed) { return Initializer(seed ^ kTeacherSalt); }

}  // namespace

Teacher::Teacher(const TeacherConfig& config, uint64_t seed)
    : Teacher(checked(config), initializer(seed)) {}

Teacher::Teacher(const TeacherConfig& config, Initializer init)
    : config_(config),
      embed_weight_(init.normal({config.vocab_size, config.d_model})),
      register_weight_(init.normal({config.mem_tokens, config.d_model})),
      encoder_({config.d_model, config.n_heads, config.encoder_depth, config.rotary_pos_emb}, init),
      decoder_(config, init) {}

Tensor Teacher::encode(const Tensor& context, bool is_padded) const {
  const int64_t batch = context.size(0), length = context.size(1), K = config_.mem_tokens;
  const Tensor registers = embedding(register_ids(batch, K), register_weight_);
  const Tensor tokens = concat_tokens(embedding(context, embed_weight_), registers);
  TransformerCall call;
  if (is_padded) call.key_mask = padding_mask(context, K);
  call.kept = {length, K};
  return memory_of(encoder_.forward(tokens, call), config_);
}

Tensor Teacher::decode(const Tensor& memory, const Tensor& future) const {
  const int64_t n = future.size(1);
  const Tensor tokens = concat_tokens(memory, embedding(future, embed_weight_));
  return decoder_.forward(tokens, {config_.mem_tokens - 1, n + 1});
}

NamedParameters Teacher::parameters() {
  NamedParameters list;
  list.push_back({"teacher.embed.weight", &embed_weight_});
  list.push_back({"teacher.registers.weight", &register_weight_});
  encoder_.list_parameters("teacher.encoder", list);
  decoder_.list_parameters("teacher.decoder", list);
  return list;
}

NamedParameters Teacher::decoder_parameters() {
  NamedParameters list;
  decoder_.list_parameters("decoder", list);
  return list;
}

}  // namespace loopless
