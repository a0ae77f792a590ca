/// A stack of pre-norm Transformer blocks, as the encoder, the decoder and the cell use it.
///
///   x <- x + attention(rms_norm(x))        L times
///   x <- x + feed_forward(rms_norm(x))
///   y  = rms_norm(x)
///
/// Attention has H heads of kHeadSize whatever the width C, no biases, and rotary embedding on the
/// first half of each head of q and k; the feed-forward part is Linear(C, 4C), erf GELU,
/// Linear(4C, C) with biases. Source: paper, Appendix B, with the reference implementation's
/// defaults, which tests/golden holds to; Vaswani et al. 2017, arXiv:1706.03762; Su et al. 2021,
/// arXiv:2104.09864.
#pragma once

#include <string>
#include <vector>

#include "models/config.h"
#include "models/initializer.h"
#include "models/parameters.h"

namespace loopless {

/// Tokens [first, first + count) of a sequence.
struct TokenRange {
  int64_t first = 0;
  int64_t count = 0;
};

/// How one stack is applied.
struct TransformerCall {
  bool is_causal = false;
  Tensor key_mask;  // u8 [B, T], 1 = visible; undefined: all are
  TokenRange kept;  // the tokens whose output is wanted
};

/// What is the same in all layers of a stack.
struct TransformerShape {
  int64_t width = 0;  // C
  int64_t heads = 0;  // H
  int64_t depth = 0;  // L
  bool is_rotary = true;
};

struct AttentionLayer {
  Tensor norm_gain;   // g [C]
  Tensor qkv_weight;  // [3 H D, C]: rows of q, then k, then v
  Tensor out_weight;  // [C, H D]

  /// x [B, T, C] -> the tokens `call.kept` of x + attention(rms_norm(x)), [B, kept, C].
  Tensor forward(const Tensor& x, const TransformerShape& shape, const TransformerCall& call) const;
};

struct FeedForwardLayer {
  Tensor norm_gain;    // g [C]
  Tensor up_weight;    // [4C, C]
  Tensor up_bias;      // [4C]
  Tensor down_weight;  // [C, 4C]
  Tensor down_bias;    // [C]

  /// x [..., C] -> x + feed_forward(rms_norm(x)).
  Tensor forward(const Tensor& x) const;
};

class Transformer {
 public:
  Transformer(const TransformerShape& shape, Initializer& init);

  /// x [B, T, C] -> [B, kept.count, C]. All layers see all T tokens as keys; queries, output map
  /// and feed-forward of the last layer are computed for the kept tokens only, since nothing else
  /// reads the others: the same numbers for less work.
  Tensor forward(const Tensor& x, const TransformerCall& call) const;

  /// Appends all parameters in forward order, names starting with `prefix`.
  void list_parameters(const std::string& prefix, NamedParameters& list);

 private:
  struct Layer {
    AttentionLayer attention;
    FeedForwardLayer feed_forward;
  };
  TransformerShape shape_;
  std::vector<Layer> layers_;
  Tensor final_gain_;  // g [C]
};

}  // namespace loopless
