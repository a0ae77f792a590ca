#include <gtest/gtest.h>

#include "train/schedule.h"

namespace loopless {
namespace {

double rate(LrSchedule schedule, int64_t step) {
  OptimizerConfig config;
  config.lr = 2;
  config.lr_schedule = schedule;
  return learning_rate(config, step, 1000);
}

TEST(Schedule, constant) {
  for (int64_t step : {0, 1, 999}) EXPECT_EQ(rate(LrSchedule::kConstant, step), 2);
}

TEST(Schedule, warmup_constant) {
  EXPECT_EQ(rate(LrSchedule::kWarmupConstant, 0), 0);
  EXPECT_DOUBLE_EQ(rate(LrSchedule::kWarmupConstant, 3), 0.6);
  EXPECT_EQ(rate(LrSchedule::kWarmupConstant, 10), 2);
  EXPECT_EQ(rate(LrSchedule::kWarmupConstant, 999), 2);
}

TEST(Schedule, warmup_cosine) {
  EXPECT_EQ(rate(LrSchedule::kWarmupCosine, 0), 0);
  EXPECT_DOUBLE_EQ(rate(LrSchedule::kWarmupCosine, 10), 2);
  EXPECT_DOUBLE_EQ(rate(LrSchedule::kWarmupCosine, 505), 1);  // half of the 990 steps behind it
  EXPECT_NEAR(rate(LrSchedule::kWarmupCosine, 999), 0, 1e-5);
}

TEST(Schedule, short_runs_have_no_warmup) {
  OptimizerConfig config;
  config.lr = 2;
  for (LrSchedule schedule : {LrSchedule::kWarmupConstant, LrSchedule::kWarmupCosine}) {
    config.lr_schedule = schedule;
    EXPECT_EQ(learning_rate(config, 0, 99), 2);
  }
}

}  // namespace
}  // namespace loopless
