#include "ops/padding_mask/padding_mask.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// Bytes: the ids, and a byte of mask each.
const Registration registration([](Suite& suite) {
  constexpr int64_t kBatch = 256, kLength = 256, kExtra = 16;
  suite.add({"padding_mask/" + dims({kBatch, kLength}), Size::kPaper,
             bytes(kBatch * (4.0 * kLength + kLength + kExtra)), []() -> std::function<void()> {
               return [ids = random_ids({kBatch, kLength}, 256)] { padding_mask(ids, kExtra); };
             }});
});

}  // namespace
}  // namespace loopless::bench
