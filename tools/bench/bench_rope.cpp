#include <memory>

#include "ops/rope/rope.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

constexpr int64_t kHeadSize = 64, kRotated = 32;

// The q and k heads of a fused q, k, v are turned, half of each. Bytes: in place, as in a model,
// what is turned, read and written; where somebody else holds the input, as here in forward and
// backward, a copy of everything.
void list(Suite& suite, Size size, const Shape& shape) {
  const RopeOptions options{.head_size = kHeadSize,
                            .rotated_dims = kRotated,
                            .rotated_heads = shape[2] / kHeadSize * 2 / 3};
  const std::string name = "rope/" + dims({shape[0], shape[1], shape[2]});
  const auto turned =
      static_cast<double>(shape[0] * shape[1] * options.rotated_heads * options.rotated_dims);
  suite.add({name + "/in_place", size, floats(2 * turned), [=]() -> std::function<void()> {
               const auto x = std::make_shared<Tensor>(normal(shape));
               return [=] { *x = rope(std::move(*x), options); };
             }});
  const auto all = static_cast<double>(shape.numel());
  suite.add_op({name, size, floats(2 * all), floats(2 * all), [=] {
                  const Tensor x = activation(shape);
                  return OpCase{{x}, [=] { return rope(x, options); }};
                }});
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, {16, 272, 1536});
  list(suite, Size::kQuick, {32, 9, 384});
});

}  // namespace
}  // namespace loopless::bench
