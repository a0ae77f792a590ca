#include "ops/rms_norm/rms_norm.h"

namespace loopless {
namespace {

void check_inputs(const Tensor& x, const Tensor& gain, const RmsNormOptions& options) {
  check_dtype("rms_norm", "x", x);
  CHECK(x.rank() > 0 && x.columns() > 0, "rms_norm: x must be [..., C] with C > 0, got ",
        x.shape());
  CHECK(options.min_norm >= 0 && options.epsilon >= 0 && options.min_norm + options.epsilon > 0,
        "rms_norm: min_norm and epsilon must not be negative, and one must be positive, got ",
        options.min_norm, " and ", options.epsilon);
  if (!gain.defined()) return;
  check_dtype("rms_norm", "gain", gain);
  CHECK(gain.shape() == Shape({x.columns()}), "rms_norm: gain must be [", x.columns(),
        "] to match x ", x.shape(), ", got ", gain.shape());
}

float* data_or_null(const Tensor& x) { return x.defined() ? x.data() : nullptr; }

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& gain, const RmsNormOptions& options) {
  check_inputs(x, gain, options);
  const int64_t rows = x.row_count(), columns = x.columns();
  const float floor = options.min_norm * options.min_norm / columns, epsilon = options.epsilon;
  const Tensor y = Tensor::empty_like(x);
  const Tensor rstd = needs_grad({x, gain}) ? Tensor::empty({rows}, kF32, x.device()) : Tensor();
  rms_norm_forward_cpu({.x = x.data(),
                        .gain = data_or_null(gain),
                        .y = y.data(),
                        .rstd = data_or_null(rstd),
                        .rows = rows,
                        .columns = columns,
                        .floor = floor,
                        .epsilon = epsilon});

  return record("rms_norm", y, {x, gain}, [=](const Tensor& dy, Gradients d) {
    const GradientTarget dx = d[0].target(), dgain = d[1].target();
    const Tensor partial =
        d[1].wanted() ? Tensor::empty({kRmsNormBlocks, columns}, kF32, x.device()) : Tensor();
    rms_norm_backward_cpu({.x = x.data(),
                           .gain = data_or_null(gain),
                           .rstd = rstd.data(),
                           .dy = dy.data(),
                           .dx = dx.data(),
                           .dgain = dgain.data(),
                           .partial = data_or_null(partial),
                           .accumulate_dx = dx.accumulate,
                           .accumulate_dgain = dgain.accumulate,
                           .rows = rows,
                           .columns = columns,
                           .floor = floor,
                           .epsilon = epsilon});
  });
}

}  // namespace loopless
