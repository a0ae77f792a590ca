#include "ops/linear/linear.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

struct Sizes {
  int64_t rows, inputs, outputs;
  bool has_bias;
};

// FLOP of the product forward, and of those for dx and dweight backward.
void list(Suite& suite, Size size, const Sizes& s) {
  const double product = 2.0 * static_cast<double>(s.rows * s.inputs * s.outputs);
  suite.add_op({"linear/" + dims({s.rows, s.inputs, s.outputs}) + (s.has_bias ? "/bias" : ""), size,
                flop(product), flop(2 * product), [=] {
                  const Tensor x = activation({s.rows, s.inputs});
                  const Tensor w = weight({s.outputs, s.inputs});
                  const Tensor bias = s.has_bias ? weight({s.outputs}) : Tensor();
                  return OpCase{{x}, [=] { return linear(x, w, bias); }};
                }});
}

const Registration registration([](Suite& suite) {
  // The encoder over 2 B sequences: q, k, v; output map; feed-forward.
  list(suite, Size::kPaper, {4352, 256, 1536, false});
  list(suite, Size::kPaper, {4352, 512, 256, false});
  list(suite, Size::kPaper, {4352, 256, 1024, true});
  list(suite, Size::kPaper, {4352, 1024, 256, true});
  // The cell over B sequences: of a rollout at B 2, and of the quick model at B 32.
  list(suite, Size::kPaper, {34, 256, 1536, false});
  list(suite, Size::kPaper, {34, 1024, 256, true});
  list(suite, Size::kQuick, {288, 64, 384, false});
  list(suite, Size::kQuick, {288, 256, 64, true});
});

}  // namespace
}  // namespace loopless::bench
