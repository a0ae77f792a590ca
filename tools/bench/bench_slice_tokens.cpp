#include "ops/slice_tokens/slice_tokens.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

struct Sizes {
  int64_t batch, tokens, begin, count, columns;
};

// Bytes: forward the slice read and written; backward dy read, all of dx written.
void list(Suite& suite, Size size, const Sizes& s) {
  const auto slice = static_cast<double>(s.batch * s.count * s.columns);
  const auto all = static_cast<double>(s.batch * s.tokens * s.columns);
  suite.add_op(
      {"slice_tokens/" + dims({s.batch, s.tokens, s.columns}) + "/" + std::to_string(s.count), size,
       floats(2 * slice), floats(slice + all), [=] {
         const Tensor x = activation({s.batch, s.tokens, s.columns});
         return OpCase{{x}, [=] { return slice_tokens(x, s.begin, s.count); }};
       }});
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, {128, 272, 256, 16, 256});  // the register tokens
  list(suite, Size::kQuick, {32, 9, 0, 8, 64});         // the memory
});

}  // namespace
}  // namespace loopless::bench
