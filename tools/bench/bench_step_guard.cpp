#include "ops/step_guard/step_guard.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// Bytes: a loss, two norms, four counters read and written. What it takes is the call.
void list(Suite& suite, Size size) {
  suite.add({"step_guard/" + dims({2}), size, floats(11), [=]() -> std::function<void()> {
               const auto count = [] { return Tensor::zeros({1}, kI32); };
               const StepCounters counters{count(), count(), count(), count()};
               const Tensor loss = normal({1}), norms[] = {normal({1}), normal({1})};
               return [=] { step_guard(loss, {norms[0], norms[1]}, counters); };
             }});
}

const Registration registration([](Suite& suite) { list(suite, Size::kPaper); });

}  // namespace
}  // namespace loopless::bench
