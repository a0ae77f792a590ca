#include "ops/concat_tokens/concat_tokens.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

struct Sizes {
  int64_t batch, a_tokens, b_tokens, columns;
};

// Bytes: forward a, b, y; backward dy, da, db.
void list(Suite& suite, Size size, const Sizes& s) {
  const auto count = static_cast<double>(s.batch * (s.a_tokens + s.b_tokens) * s.columns);
  suite.add_op(
      {"concat_tokens/" + dims({s.batch, s.a_tokens, s.columns}) + "+" + std::to_string(s.b_tokens),
       size, floats(2 * count), floats(2 * count), [=] {
         const Tensor a = activation({s.batch, s.a_tokens, s.columns});
         const Tensor b = activation({s.batch, s.b_tokens, s.columns});
         return OpCase{{a, b}, [=] { return concat_tokens(a, b); }};
       }});
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, {128, 256, 16, 256});  // a context and the register tokens
  list(suite, Size::kQuick, {32, 8, 1, 64});       // a memory and the cell's input
});

}  // namespace
}  // namespace loopless::bench
