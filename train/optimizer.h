/// AdamW over the flat buffers, with each group's gradient clipped by its own norm.
#pragma once

#include <string>
#include <vector>

#include "models/parameters.h"
#include "ops/step_guard/step_guard.h"
#include "train/config.h"
#include "train/progress.h"

namespace loopless {

class Optimizer {
 public:
  /// Moments start at zero. `parameters` must outlive the optimiser.
  Optimizer(const FlatParameters& parameters, const OptimizerConfig& config, int64_t n_iters);

  /// One update from the gradients in the flat buffer: clips every trained group to clip_grad_norm
  /// (teacher and RNN apart), applies AdamW with decoupled decay, and leaves the gradients as they
  /// are. If `loss` or a norm is not finite, weights and moments stay as they are, and the step is
  /// counted as skipped. Nothing is read on the host: the learning rate, clip factors and counters
  /// are tensors.
  void step(const Tensor& loss);

  /// Steps of the run, skipped ones among them.
  int64_t steps_done() const { return steps_done_; }
  /// Learning rate of the last step.
  double lr() const { return lr_; }

  struct GroupNorm {
    std::string group;
    Tensor norm;  // f32 [1]: of the group's gradient at the last step, before clipping
  };
  const std::vector<GroupNorm>& norms() const { return norms_; }

  /// Read from the device.
  UpdateCounts counts() const;
  /// Goes on from there, as far as the counts are concerned.
  void restore(const UpdateCounts& counts);
  /// The moments of the parameter at `begin` of the flat buffer, as views; `count` elements.
  Tensor m(int64_t begin, int64_t count) const { return m_.view_rows(begin, count); }
  Tensor v(int64_t begin, int64_t count) const { return v_.view_rows(begin, count); }

 private:
  struct Group {
    Tensor values, grads, m, v;  // slices of the flat buffers
    Tensor clip_factor;          // f32 [1]
  };

  OptimizerConfig config_;
  int64_t n_iters_;
  int64_t steps_done_ = 0;
  double lr_ = 0;
  Tensor m_, v_;  // f32 [trained]
  std::vector<Group> groups_;
  std::vector<GroupNorm> norms_;
  Tensor lr_tensor_;  // f32 [1]
  StepCounters counters_;
};

}  // namespace loopless
