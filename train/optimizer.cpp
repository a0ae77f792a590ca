#include "train/optimizer.h"

#include "ops/adamw/adamw.h"
#include "ops/global_norm/global_norm.h"
#include "train/schedule.h"

namespace loopless {

Optimizer::Optimizer(const FlatParameters& parameters, const OptimizerConfig& config,
                     int64_t n_iters)
    : config_(config),
      n_iters_(n_iters),
      lr_tensor_(Tensor::zeros({1})),
      step_tensor_(Tensor::zeros({1}, kI32)) {
  const Tensor m = Tensor::zeros({parameters.trained_count()});
  const Tensor v = Tensor::zeros({parameters.trained_count()});
  for (const FlatParameters::Slice& slice : parameters.groups()) {
    if (!slice.is_trained) continue;
    const auto part = [&](const Tensor& flat) { return flat.view_rows(slice.begin, slice.count); };
    groups_.push_back({part(parameters.values()), part(parameters.grads()), part(m), part(v),
                       Tensor::full({1}, 1.0f)});
    norms_.push_back({slice.name, Tensor::zeros({1})});
  }
}

void Optimizer::step() {
  lr_ = learning_rate(config_, steps_done_, n_iters_);
  ++steps_done_;
  *lr_tensor_.data() = static_cast<float>(lr_);
  *step_tensor_.data<int32_t>() = static_cast<int32_t>(steps_done_);
  const AdamWOptions options{.beta1 = config_.adam_betas[0],
                             .beta2 = config_.adam_betas[1],
                             .weight_decay = config_.weight_decay};
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    global_norm(group.grads, config_.clip_grad_norm, norms_[i].norm, group.clip_factor);
    adamw(group.values, group.grads, group.m, group.v,
          {.lr = lr_tensor_, .step = step_tensor_, .clip_factor = group.clip_factor}, options);
  }
}

}  // namespace loopless
