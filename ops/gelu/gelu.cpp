#include "ops/gelu/gelu.h"

namespace loopless {

Tensor gelu(const Tensor& x) {
  check_dtype("gelu", "x", x);
  const Tensor y = Tensor::empty_like(x);
  gelu_forward_cpu({.x = x.data(), .y = y.data(), .count = x.numel()});

  return record("gelu", y, {x}, [=](const Tensor& dy, Gradients d) {
    const GradientTarget dx = d[0].target();
    gelu_backward_cpu({.x = x.data(),
                       .dy = dy.data(),
                       .dx = dx.data(),
                       .accumulate = dx.accumulate,
                       .count = x.numel()});
  });
}

}  // namespace loopless
