#include "ops/step_guard/step_guard.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

Tensor number(float value) { return Tensor::full({1}, value); }

StepCounters zero_counters() {
  const auto zero = [] { return Tensor::zeros({1}, kI32); };
  return {.skip = zero(), .step = zero(), .skipped = zero(), .skipped_in_a_row = zero()};
}

std::vector<int32_t> values(const StepCounters& c) {
  std::vector<int32_t> result;
  for (const Tensor& x : {c.skip, c.step, c.skipped, c.skipped_in_a_row}) {
    result.push_back(*x.data<int32_t>());
  }
  return result;
}

/// The formulas of the header on a long series of good and bad steps.
TEST(StepGuard, matches_reference) {
  const StepCounters counters = zero_counters();
  int32_t step = 0, skipped = 0, in_a_row = 0;
  const Tensor draws = random_tensor({200, 3}, 1);
  for (int64_t i = 0; i < draws.size(0); ++i) {
    float x[3];
    bool is_good = true;
    for (int j = 0; j < 3; ++j) {
      const float draw = draws.data()[3 * i + j];
      x[j] = draw < -0.8f ? NAN : draw > 0.8f ? INFINITY : draw;
      is_good = is_good && std::isfinite(x[j]);
    }
    step_guard(number(x[0]), {number(x[1]), number(x[2])}, counters);
    is_good ? ++step : ++skipped;
    in_a_row = is_good ? 0 : in_a_row + 1;
    ASSERT_EQ(values(counters), (std::vector<int32_t>{is_good ? 0 : 1, step, skipped, in_a_row}))
        << i;
  }
  EXPECT_GT(step, 20);
  EXPECT_GT(skipped, 20);
}

TEST(StepGuard, edges) {
  const auto skip = [](float loss, const std::vector<Tensor>& norms) {
    const StepCounters counters = zero_counters();
    step_guard(number(loss), norms, counters);
    return *counters.skip.data<int32_t>();
  };
  EXPECT_EQ(skip(0, {}), 0);
  EXPECT_EQ(skip(-3e38f, {number(3e38f)}), 0);
  EXPECT_EQ(skip(1e-45f, {number(0)}), 0);
  EXPECT_EQ(skip(-INFINITY, {}), 1);
  EXPECT_EQ(skip(-NAN, {number(1)}), 1);
  std::vector<Tensor> most(kMostNorms, number(1));
  EXPECT_EQ(skip(1, most), 0);
  most.back() = number(NAN);
  EXPECT_EQ(skip(1, most), 1);
}

TEST(StepGuard, errors) {
  const StepCounters good = zero_counters();
  EXPECT_ERROR(step_guard(Tensor::zeros({2}), {}, good), "step_guard: loss must be [1], got [2]");
  EXPECT_ERROR(step_guard(number(0), {Tensor::zeros({0})}, good),
               "step_guard: norm must be [1], got [0]");
  EXPECT_ERROR(step_guard(number(0), std::vector<Tensor>(kMostNorms + 1, number(0)), good),
               "step_guard: at most 8 norms, got 9");
  StepCounters bad = good;
  bad.skipped = number(0);
  EXPECT_ERROR(step_guard(number(0), {}, bad), "step_guard: skipped must be i32, got f32");
  EXPECT_EQ(values(good), (std::vector<int32_t>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace loopless::testing
