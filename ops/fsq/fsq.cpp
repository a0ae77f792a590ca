#include "ops/fsq/fsq.h"

#include <cmath>

namespace loopless {

Tensor fsq(const Tensor& x, float q) {
  check_dtype("fsq", "x", x);
  CHECK(q > 0 && std::isfinite(q), "fsq: q must be positive and finite, got ", q);
  const Tensor y = Tensor::empty_like(x);
  fsq_forward_cpu({.x = x.data(), .y = y.data(), .count = x.numel(), .q = q});

  return record("fsq", y, {x}, [](const Tensor& dy, Gradients d) { d[0].take(dy); });
}

}  // namespace loopless
