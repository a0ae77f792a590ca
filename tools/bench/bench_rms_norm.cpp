#include "ops/rms_norm/rms_norm.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// Bytes: forward x, y; backward x, dy, dx.
void list(Suite& suite, Size size, int64_t rows, int64_t columns) {
  const auto count = static_cast<double>(rows * columns);
  suite.add_op(
      {"rms_norm/" + dims({rows, columns}), size, floats(2 * count), floats(3 * count), [=] {
         const Tensor x = activation({rows, columns}), gain = weight({columns});
         return OpCase{{x}, [=] { return rms_norm(x, gain, kBlockNorm); }};
       }});
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, 34816, 256);
  list(suite, Size::kQuick, 4608, 64);
});

}  // namespace
}  // namespace loopless::bench
