#include "models/transformer.h"

#include <algorithm>
#include <utility>

#include "ops/add/add.h"
#include "ops/attention/attention.h"
#include "ops/gelu/gelu.h"
#include "ops/linear/linear.h"
#include "ops/rms_norm/rms_norm.h"
#include "ops/rope/rope.h"
#include "ops/slice_tokens/slice_tokens.h"

namespace loopless {
namespace {

constexpr int64_t kRotatedSize = std::max<int64_t>(kHeadSize / 2, 32);

/// Rotates the first `rotated` heads of x [B, T, N D], whose tokens start at position `first`.
Tensor rotate(Tensor x, const TransformerShape& shape, int64_t rotated, int64_t first) {
  if (!shape.is_rotary) return x;
  return rope(std::move(x), {.head_size = kHeadSize,
                             .rotated_dims = kRotatedSize,
                             .rotated_heads = rotated,
                             .first_position = first});
}

}  // namespace

Tensor AttentionLayer::forward(const Tensor& x, const TransformerShape& shape,
                               const TransformerCall& call) const {
  const int64_t inner = shape.heads * kHeadSize;
  const AttentionOptions options{.heads = shape.heads,
                                 .is_causal = call.is_causal,
                                 .key_mask = call.key_mask,
                                 .first_query = call.kept.first};
  const Tensor h = rms_norm(x, norm_gain, kBlockNorm);
  if (call.kept.count == x.size(1)) {
    const Tensor qkv = rotate(linear(h, qkv_weight), shape, 2 * shape.heads, 0);
    return add(x, linear(self_attention(qkv, options), out_weight));
  }
  const auto [first, count] = call.kept;
  const Tensor q_weight = rows(qkv_weight, 0, inner);
  const Tensor kv_weight = rows(qkv_weight, inner, 2 * inner);
  const Tensor q =
      rotate(linear(slice_tokens(h, first, count), q_weight), shape, shape.heads, first);
  const Tensor kv = rotate(linear(h, kv_weight), shape, shape.heads, 0);
  return add(slice_tokens(x, first, count), linear(attention(q, kv, options), out_weight));
}

Tensor FeedForwardLayer::forward(const Tensor& x) const {
  const Tensor h = gelu(linear(rms_norm(x, norm_gain, kBlockNorm), up_weight, up_bias));
  return add(x, linear(h, down_weight, down_bias));
}

Transformer::Transformer(const TransformerShape& shape, Initializer& init) : shape_(shape) {
  const int64_t width = shape.width, inner = shape.heads * kHeadSize;
  for (int64_t l = 0; l < shape.depth; ++l) {
    Layer layer;
    layer.attention.norm_gain = init.zeros({width});
    layer.attention.qkv_weight = init.linear({3 * inner, width}, width);
    layer.attention.out_weight = init.linear({width, inner}, inner);
    layer.feed_forward.norm_gain = init.zeros({width});
    layer.feed_forward.up_weight = init.linear({4 * width, width}, width);
    layer.feed_forward.up_bias = init.linear({4 * width}, width);
    layer.feed_forward.down_weight = init.linear({width, 4 * width}, 4 * width);
    layer.feed_forward.down_bias = init.linear({width}, 4 * width);
    layers_.push_back(std::move(layer));
  }
  final_gain_ = init.zeros({width});
}

Tensor Transformer::forward(const Tensor& input, const TransformerCall& call) const {
  CHECK(input.rank() == 3 && input.size(2) == shape_.width, "transformer: x must be [B, T, ",
        shape_.width, "], got ", input.shape());
  const auto [first, count] = call.kept;
  CHECK(first >= 0 && count >= 0 && first + count <= input.size(1), "transformer: tokens [", first,
        ", ", first, " + ", count, ") are outside ", input.shape());
  TransformerCall inner_call = call;
  inner_call.kept = {0, input.size(1)};
  Tensor x = input;
  for (size_t l = 0; l < layers_.size(); ++l) {
    const bool is_last = l + 1 == layers_.size();
    x = layers_[l].attention.forward(x, shape_, is_last ? call : inner_call);
    x = layers_[l].feed_forward.forward(x);
  }
  return rms_norm(x, final_gain_, kBlockNorm);
}

void Transformer::list_parameters(const std::string& prefix, NamedParameters& list) {
  for (size_t l = 0; l < layers_.size(); ++l) {
    const std::string layer = prefix + ".layer" + std::to_string(l);
    AttentionLayer& attention = layers_[l].attention;
    list.push_back({layer + ".attention.norm.gain", &attention.norm_gain});
    list.push_back({layer + ".attention.qkv.weight", &attention.qkv_weight});
    list.push_back({layer + ".attention.out.weight", &attention.out_weight});
    FeedForwardLayer& feed_forward = layers_[l].feed_forward;
    list.push_back({layer + ".feed_forward.norm.gain", &feed_forward.norm_gain});
    list.push_back({layer + ".feed_forward.up.weight", &feed_forward.up_weight});
    list.push_back({layer + ".feed_forward.up.bias", &feed_forward.up_bias});
    list.push_back({layer + ".feed_forward.down.weight", &feed_forward.down_weight});
    list.push_back({layer + ".feed_forward.down.bias", &feed_forward.down_bias});
  }
  list.push_back({prefix + ".final_norm.gain", &final_gain_});
}

}  // namespace loopless
