/// AdamW over the flat buffers, with each group's gradient clipped by its own norm.
#pragma once

#include <string>
#include <vector>

#include "models/parameters.h"
#include "train/config.h"

namespace loopless {

class Optimizer {
 public:
  /// Moments start at zero. `parameters` must outlive the optimiser.
  Optimizer(const FlatParameters& parameters, const OptimizerConfig& config, int64_t n_iters);

  /// One update from the gradients in the flat buffer: clips every trained group to clip_grad_norm
  /// (teacher and RNN apart), applies AdamW with decoupled decay, and leaves the gradients as they
  /// are. Nothing is read on the host: step, learning rate and clip factors are tensors.
  void step();

  int64_t steps_done() const { return steps_done_; }
  /// Learning rate of the last step.
  double lr() const { return lr_; }

  struct GroupNorm {
    std::string group;
    Tensor norm;  // f32 [1]: of the group's gradient at the last step, before clipping
  };
  const std::vector<GroupNorm>& norms() const { return norms_; }

 private:
  struct Group {
    Tensor values, grads, m, v;  // slices of the flat buffers
    Tensor clip_factor;          // f32 [1]
  };

  OptimizerConfig config_;
  int64_t n_iters_;
  int64_t steps_done_ = 0;
  double lr_ = 0;
  std::vector<Group> groups_;
  std::vector<GroupNorm> norms_;
  Tensor lr_tensor_;    // f32 [1]
  Tensor step_tensor_;  // i32 [1]: number of the step, from 1
};

}  // namespace loopless
