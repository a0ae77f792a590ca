#include "ops/mse/mse.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// Bytes: forward a, b; backward for each of da and db a, b read and one written.
const Registration registration([](Suite& suite) {
  constexpr int64_t kBatch = 128, kTokens = 16, kColumns = 256;
  constexpr double kCount = kBatch * kTokens * kColumns;
  suite.add_op({"mse/" + dims({kBatch, kTokens, kColumns}), Size::kPaper, floats(2 * kCount),
                floats(6 * kCount), [] {
                  const Tensor a = activation({kBatch, kTokens, kColumns});
                  const Tensor b = activation({kBatch, kTokens, kColumns});
                  return OpCase{{a, b}, [=] { return mse(a, b); }};
                }});
});

}  // namespace
}  // namespace loopless::bench
