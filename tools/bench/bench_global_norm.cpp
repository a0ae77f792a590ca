#include "ops/global_norm/global_norm.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// Bytes: the gradients.
void list(Suite& suite, Size size, int64_t count) {
  suite.add({"global_norm/" + dims({count}), size, floats(static_cast<double>(count)),
             [=]() -> std::function<void()> {
               const Tensor grads = normal({count}), norm = Tensor::zeros({1});
               const Tensor clip_factor = Tensor::zeros({1});
               return [=] { global_norm(grads, 1.0, norm, clip_factor); };
             }});
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, 21'209'088);  // what SMT trains
  list(suite, Size::kQuick, 400'000);
});

}  // namespace
}  // namespace loopless::bench
