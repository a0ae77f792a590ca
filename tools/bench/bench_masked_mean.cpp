#include "ops/masked_mean/masked_mean.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// Bytes: forward loss, targets; backward targets, dloss.
const Registration registration([](Suite& suite) {
  constexpr int64_t kBatch = 128, kLength = 64;
  suite.add_op({"masked_mean/" + dims({kBatch, kLength}), Size::kPaper,
                floats(2 * kBatch * kLength), floats(2 * kBatch * kLength), [] {
                  const Tensor loss = activation({kBatch, kLength});
                  const Tensor targets = random_ids({kBatch, kLength}, 256);
                  const MaskedMeanOptions options{.gamma = 0.9, .count = count_valid(targets)};
                  return OpCase{{loss}, [=] { return masked_mean(loss, targets, options); }};
                }});
});

}  // namespace
}  // namespace loopless::bench
