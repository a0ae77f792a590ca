#include "train/optimizer.h"

#include "ops/adamw/adamw.h"
#include "ops/global_norm/global_norm.h"
#include "train/schedule.h"

namespace loopless {

Optimizer::Optimizer(const FlatParameters& parameters, const OptimizerConfig& config,
                     int64_t n_iters)
    : config_(config),
      n_iters_(n_iters),
      m_(Tensor::zeros({parameters.trained_count()})),
      v_(Tensor::zeros({parameters.trained_count()})),
      lr_tensor_(Tensor::zeros({1})) {
  for (Tensor* counter :
       {&counters_.skip, &counters_.step, &counters_.skipped, &counters_.skipped_in_a_row}) {
    *counter = Tensor::zeros({1}, kI32);
  }
  for (const FlatParameters::Slice& slice : parameters.groups()) {
    if (!slice.is_trained) continue;
    const auto part = [&](const Tensor& flat) { return flat.view_rows(slice.begin, slice.count); };
    groups_.push_back({part(parameters.values()), part(parameters.grads()), part(m_), part(v_),
                       Tensor::full({1}, 1.0f)});
    norms_.push_back({slice.name, Tensor::zeros({1})});
  }
}

void Optimizer::step(const Tensor& loss) {
  lr_ = learning_rate(config_, steps_done_, n_iters_);
  ++steps_done_;
  *lr_tensor_.data() = static_cast<float>(lr_);
  const AdamWOptions options{.beta1 = config_.adam_betas[0],
                             .beta2 = config_.adam_betas[1],
                             .weight_decay = config_.weight_decay};
  std::vector<Tensor> norms;
  for (size_t i = 0; i < groups_.size(); ++i) {
    norms.push_back(norms_[i].norm);
    global_norm(groups_[i].grads, config_.clip_grad_norm, norms[i], groups_[i].clip_factor);
  }
  step_guard(loss, norms, counters_);
  for (const Group& group : groups_) {
    adamw(group.values, group.grads, group.m, group.v,
          {.lr = lr_tensor_,
           .step = counters_.step,
           .clip_factor = group.clip_factor,
           .skip = counters_.skip},
          options);
  }
}

UpdateCounts Optimizer::counts() const {
  return {.steps = steps_done_,
          .updates = *counters_.step.data<int32_t>(),
          .skipped = *counters_.skipped.data<int32_t>(),
          .skipped_in_a_row = *counters_.skipped_in_a_row.data<int32_t>()};
}

void Optimizer::restore(const UpdateCounts& counts) {
  steps_done_ = counts.steps;
  *counters_.step.data<int32_t>() = static_cast<int32_t>(counts.updates);
  *counters_.skipped.data<int32_t>() = static_cast<int32_t>(counts.skipped);
  *counters_.skipped_in_a_row.data<int32_t>() = static_cast<int32_t>(counts.skipped_in_a_row);
}

}  // namespace loopless
