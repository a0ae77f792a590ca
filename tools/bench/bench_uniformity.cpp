#include "ops/uniformity/uniformity.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// FLOP: forward the distances of all pairs, each once; backward a square matrix times the rows.
void list(Suite& suite, Size size, int64_t rows, int64_t columns) {
  const auto square = static_cast<double>(rows * rows * columns);
  suite.add_op({"uniformity/" + dims({rows, columns}), size, flop(square), flop(2 * square), [=] {
                  const Tensor x = activation({rows, columns});
                  return OpCase{{x}, [=] { return uniformity(x); }};
                }});
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, 512, 256);
  list(suite, Size::kPaper, 128, 256);
  list(suite, Size::kQuick, 256, 64);
});

}  // namespace
}  // namespace loopless::bench
