#include "ops/adamw/adamw.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// Bytes: parameter, m and v read and written, the gradient read.
void list(Suite& suite, Size size, int64_t count) {
  suite.add({"adamw/" + dims({count}), size, floats(7.0 * static_cast<double>(count)),
             [=]() -> std::function<void()> {
               const Tensor parameters = normal({count}), grads = normal({count});
               const Tensor m = Tensor::zeros({count}), v = Tensor::zeros({count});
               const AdamWState state{Tensor::full({1}, 1e-3f), Tensor::from<int32_t>({1}, {1}),
                                      Tensor::full({1}, 1.0f), Tensor::zeros({1}, kI32)};
               return [=] { adamw(parameters, grads, m, v, state, {}); };
             }});
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, 21'209'088);  // what SMT trains
  list(suite, Size::kQuick, 400'000);
});

}  // namespace
}  // namespace loopless::bench
