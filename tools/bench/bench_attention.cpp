#include "ops/attention/attention.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

constexpr int64_t kHeadSize = 64;

struct Sizes {
  int64_t batch, heads, queries, keys;
  bool is_causal = false;  // then queries = keys
};

// FLOP of the two products forward, and of four backward; of causal ones, the triangle.
void list(Suite& suite, Size size, const Sizes& s) {
  const double pairs =
      static_cast<double>(s.queries) *
      (s.is_causal ? static_cast<double>(s.keys + 1) / 2 : static_cast<double>(s.keys));
  const double work = 4 * static_cast<double>(s.batch * s.heads * kHeadSize) * pairs;
  const std::string name =
      "attention/" + dims({s.batch, s.heads, s.queries, s.keys}) + (s.is_causal ? "/causal" : "");
  const AttentionOptions options{.heads = s.heads, .is_causal = s.is_causal};
  const int64_t width = s.heads * kHeadSize;
  if (s.queries == s.keys) {
    suite.add_op({name, size, flop(work), flop(2 * work), [=] {
                    const Tensor qkv = activation({s.batch, s.keys, 3 * width});
                    return OpCase{{qkv}, [=] { return self_attention(qkv, options); }};
                  }});
  } else {
    suite.add_op({name, size, flop(work), flop(2 * work), [=] {
                    const Tensor q = activation({s.batch, s.queries, width});
                    const Tensor kv = activation({s.batch, s.keys, 2 * width});
                    return OpCase{{q, kv}, [=] { return attention(q, kv, options); }};
                  }});
  }
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, {16, 8, 272, 272});     // encoder, 2 B sequences
  list(suite, Size::kPaper, {16, 8, 16, 272});      // its last layer
  list(suite, Size::kPaper, {8, 8, 79, 79, true});  // decoder
  list(suite, Size::kPaper, {2, 8, 17, 17});        // cell, in a rollout
  list(suite, Size::kDemo, {64, 4, 136, 136});      // encoder
  list(suite, Size::kQuick, {64, 2, 72, 72});       // encoder
  list(suite, Size::kQuick, {32, 2, 9, 9});         // cell
});

}  // namespace
}  // namespace loopless::bench
