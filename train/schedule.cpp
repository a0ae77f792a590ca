#include "train/schedule.h"

#include <cmath>
#include <numbers>

namespace loopless {

double learning_rate(const OptimizerConfig& config, int64_t step, int64_t n_iters) {
  if (config.lr_schedule == LrSchedule::kConstant) return config.lr;
  const int64_t warmup = n_iters / 100;
  const auto s = static_cast<double>(step);
  const auto w = static_cast<double>(warmup);
  if (step < warmup) return config.lr * s / w;
  if (config.lr_schedule == LrSchedule::kWarmupConstant) return config.lr;
  const double progress = (s - w) / (static_cast<double>(n_iters) - w);
  return config.lr * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

}  // namespace loopless
