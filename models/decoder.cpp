#include "models/decoder.h"

#include "ops/linear/linear.h"

namespace loopless {

Decoder::Decoder(const ModelConfig& config, Initializer& init)
    : stack_({config.d_model, config.n_heads, config.decoder_depth, config.rotary_pos_emb}, init),
      logits_weight_(init.linear({config.vocab_size, config.d_model}, config.d_model)),
      logits_bias_(init.linear({config.vocab_size}, config.d_model)) {}

Tensor Decoder::forward(const Tensor& tokens, TokenRange kept) const {
  const Tensor h = stack_.forward(tokens, {.is_causal = true, .key_mask = {}, .kept = kept});
  return linear(h, logits_weight_, logits_bias_);
}

void Decoder::list_parameters(const std::string& prefix, NamedParameters& list) {
  stack_.list_parameters(prefix, list);
  list.push_back({prefix + ".logits.weight", &logits_weight_});
  list.push_back({prefix + ".logits.bias", &logits_bias_});
}

}  // namespace loopless
