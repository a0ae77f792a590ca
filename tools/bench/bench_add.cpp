#include "ops/add/add.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// Bytes: forward a, b, y; backward none, for dy is handed on.
void list(Suite& suite, Size size, int64_t rows, int64_t columns) {
  const auto count = static_cast<double>(rows * columns);
  suite.add_op({"add/" + dims({rows, columns}), size, floats(3 * count), {}, [=] {
                  const Tensor a = activation({rows, columns}), b = activation({rows, columns});
                  return OpCase{{a, b}, [=] { return add(a, b); }};
                }});
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, 34816, 256);
  list(suite, Size::kQuick, 4608, 64);
});

}  // namespace
}  // namespace loopless::bench
