#include "ops/mse/mse.h"

namespace loopless {
namespace {

void run_backward(const Tensor& a, const Tensor& b, const Tensor& dy, const Gradient& gradient) {
  if (!gradient.wanted()) return;
  const GradientTarget da = gradient.target();
  mse_backward_cpu({a.data(), b.data(), dy.data(), da.data(), da.accumulate, a.numel()});
}

}  // namespace

Tensor mse(const Tensor& a, const Tensor& b) {
  check_dtype("mse", "a", a);
  check_dtype("mse", "b", b);
  CHECK(a.shape() == b.shape(), "mse: b must be ", a.shape(), " to match a, got ", b.shape());
  const Tensor y = Tensor::empty({1});
  const int64_t blocks = (a.numel() + kMseBlock - 1) / kMseBlock;
  const Tensor partial = Tensor::empty({blocks * static_cast<int64_t>(sizeof(double))}, kU8);
  mse_forward_cpu(
      {a.data(), b.data(), reinterpret_cast<double*>(partial.raw()), y.data(), a.numel()});
  return record("mse", y, {a, b}, [=](const Tensor& dy, Gradients d) {
    run_backward(a, b, dy, d[0]);
    run_backward(b, a, dy, d[1]);
  });
}

}  // namespace loopless
