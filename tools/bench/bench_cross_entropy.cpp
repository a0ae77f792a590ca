#include "ops/cross_entropy/cross_entropy.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// Bytes: forward logits; backward logits, dlogits. What is there once a row is left out.
void list(Suite& suite, Size size, int64_t rows, int64_t vocabulary) {
  const auto count = static_cast<double>(rows * vocabulary);
  suite.add_op(
      {"cross_entropy/" + dims({rows, vocabulary}), size, floats(count), floats(2 * count), [=] {
         const Tensor logits = activation({rows, vocabulary});
         const Tensor targets = random_ids({rows}, vocabulary);
         return OpCase{{logits}, [=] { return cross_entropy(logits, targets); }};
       }});
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, 8192, 256);
  list(suite, Size::kQuick, 512, 256);
});

}  // namespace
}  // namespace loopless::bench
