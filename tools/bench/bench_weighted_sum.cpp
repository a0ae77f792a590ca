#include "ops/weighted_sum/weighted_sum.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// No floor: three numbers.
const Registration registration([](Suite& suite) {
  suite.add_op(
      {"weighted_sum/3", Size::kPaper, {}, {}, [] {
         const Tensor a = activation({1}), b = activation({1}), c = activation({1});
         return OpCase{{a, b, c}, [=] { return weighted_sum({a, b, c}, {1.0, 0.1, 0.001}); }};
       }});
});

}  // namespace
}  // namespace loopless::bench
