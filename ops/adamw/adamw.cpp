#include "ops/adamw/adamw.h"

namespace loopless {
namespace {

void check_options(const AdamWOptions& options) {
  CHECK(options.beta1 >= 0 && options.beta1 < 1, "adamw: beta1 must be in [0, 1), got ",
        options.beta1);
  CHECK(options.beta2 >= 0 && options.beta2 < 1, "adamw: beta2 must be in [0, 1), got ",
        options.beta2);
  CHECK(options.epsilon > 0, "adamw: epsilon must be positive, got ", options.epsilon);
  CHECK(options.weight_decay >= 0, "adamw: weight_decay must not be negative, got ",
        options.weight_decay);
}

}  // namespace

void adamw(const Tensor& parameters, const Tensor& grads, const Tensor& m, const Tensor& v,
           const AdamWState& state, const AdamWOptions& options) {
  check_dtype("adamw", "parameters", parameters);
  CHECK(parameters.rank() == 1, "adamw: parameters must be [N], got ", parameters.shape());
  check_tensor("adamw", "grads", grads, parameters.shape());
  check_tensor("adamw", "m", m, parameters.shape());
  check_tensor("adamw", "v", v, parameters.shape());
  check_tensor("adamw", "lr", state.lr, {1});
  check_tensor("adamw", "step", state.step, {1}, kI32);
  check_tensor("adamw", "clip_factor", state.clip_factor, {1});
  check_tensor("adamw", "skip", state.skip, {1}, kI32);
  check_options(options);
  adamw_cpu({.parameters = parameters.data(),
             .grads = grads.data(),
             .m = m.data(),
             .v = v.data(),
             .lr = state.lr.data(),
             .step = state.step.data<int32_t>(),
             .clip_factor = state.clip_factor.data(),
             .skip = state.skip.data<int32_t>(),
             .beta1 = options.beta1,
             .beta2 = options.beta2,
             .epsilon = options.epsilon,
             .weight_decay = options.weight_decay,
             .count = parameters.numel()});
}

}  // namespace loopless
