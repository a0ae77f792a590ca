#include "ops/concat_rows/concat_rows.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

// Bytes: forward the inputs and y; backward none, for views of dy are handed on.
void list(Suite& suite, Size size, int64_t inputs, const Shape& shape) {
  const auto count = static_cast<double>(inputs * shape.numel());
  suite.add_op(
      {"concat_rows/" + std::to_string(inputs) + "x" + dims({shape[0], shape[1], shape[2]}),
       size,
       floats(2 * count),
       {},
       [=] {
         std::vector<Tensor> parts;
         for (int64_t i = 0; i < inputs; ++i) parts.push_back(activation(shape));
         return OpCase{parts, [=] { return concat_rows(parts); }};
       }});
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, 256, {2, 16, 256});  // the memories of BPTT
  list(suite, Size::kQuick, 64, {32, 8, 64});
});

}  // namespace
}  // namespace loopless::bench
