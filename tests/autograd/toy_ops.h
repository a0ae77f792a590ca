/// The smallest ops that show what the engine does; they need nothing from ops/.
#pragma once

#include "autograd/autograd.h"

namespace loopless::testing {

inline void put(const GradientTarget& target, int64_t i, float value) {
  if (!target.data()) return;
  target.data()[i] = target.accumulate ? target.data()[i] + value : value;
}

/// y = factor x. Keeps nothing of x.
inline Tensor scale(const Tensor& x, float factor) {
  const Tensor y = Tensor::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) y.data()[i] = factor * x.data()[i];
  return record("scale", y, {x}, [=](const Tensor& dy, Gradients d) {
    const GradientTarget dx = d[0].target();
    for (int64_t i = 0; i < dy.numel(); ++i) put(dx, i, factor * dy.data()[i]);
  });
}

/// y = a + b. Its gradients are dy itself.
inline Tensor add(const Tensor& a, const Tensor& b) {
  const Tensor y = Tensor::empty_like(a);
  for (int64_t i = 0; i < a.numel(); ++i) y.data()[i] = a.data()[i] + b.data()[i];
  return record("add", y, {a, b}, [](const Tensor& dy, Gradients d) {
    d[0].take(dy);
    d[1].take(dy);
  });
}

/// y = a b, element by element. Keeps a and b, and fills both gradients in one pass.
inline Tensor multiply(const Tensor& a, const Tensor& b) {
  const Tensor y = Tensor::empty_like(a);
  for (int64_t i = 0; i < a.numel(); ++i) y.data()[i] = a.data()[i] * b.data()[i];
  return record("multiply", y, {a, b}, [=](const Tensor& dy, Gradients d) {
    const GradientTarget da = d[0].target(), db = d[1].target();
    for (int64_t i = 0; i < dy.numel(); ++i) {
      put(da, i, dy.data()[i] * b.data()[i]);
      put(db, i, dy.data()[i] * a.data()[i]);
    }
  });
}

/// y = x, in the same storage; the gradient is dy itself.
inline Tensor pass(const Tensor& x) {
  return record("pass", x.view(x.shape()), {x},
                [](const Tensor& dy, Gradients d) { d[0].take(dy); });
}

/// Names of the nodes whose backward ran while it lived.
class Observed {
 public:
  Observed() {
    observe_backward([this](const char* op, const Tensor&) { ops.push_back(op); });
  }
  ~Observed() { observe_backward({}); }
  Observed(const Observed&) = delete;

  std::vector<std::string> ops;
};

using Floats = std::vector<float>;
inline Tensor tensor(const Floats& values) {
  return Tensor::from({static_cast<int64_t>(values.size())}, values);
}
inline Floats gradient(const Tensor& leaf) { return grad_of(leaf).to_vector(); }

}  // namespace loopless::testing
