#include "ops/add/add.h"

namespace loopless {

Tensor add(const Tensor& a, const Tensor& b) {
  check_dtype("add", "a", a);
  check_dtype("add", "b", b);
  CHECK(a.shape() == b.shape(), "add: a and b must have one shape, got ", a.shape(), " and ",
        b.shape());
  const Tensor y = Tensor::empty_like(a);
  add_forward_cpu({.a = a.data(), .b = b.data(), .y = y.data(), .count = y.numel()});

  return record("add", y, {a, b}, [](const Tensor& dy, Gradients d) {
    d[0].take(dy);
    d[1].take(dy);
  });
}

}  // namespace loopless
