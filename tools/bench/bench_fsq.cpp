#include "ops/fsq/fsq.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// Bytes: forward x, y; backward none, for dy is handed on.
const Registration registration([](Suite& suite) {
  constexpr int64_t kBatch = 128, kTokens = 16, kColumns = 256;
  suite.add_op({"fsq/" + dims({kBatch, kTokens, kColumns}),
                Size::kPaper,
                floats(2.0 * kBatch * kTokens * kColumns),
                {},
                [] {
                  const Tensor x = activation({kBatch, kTokens, kColumns});
                  return OpCase{{x}, [=] { return fsq(x, 0.5f); }};
                }});
});

}  // namespace
}  // namespace loopless::bench
