#include "ops/global_norm/global_norm.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

struct Result {
  float norm, clip_factor;
};

Result run(const Tensor& grads, double max_norm) {
  const Tensor norm = Tensor::empty({1}), clip_factor = Tensor::empty({1});
  global_norm(grads, max_norm, norm, clip_factor);
  return {norm.item(), clip_factor.item()};
}

/// The formulas of the header in float64; a sum in float64 leaves only the last rounding.
void expect_global_norm_matches(const Tensor& grads, double max_norm) {
  double sum = 0;
  for (const double g : values_as<double>(grads)) sum += g * g;
  const double norm = std::sqrt(sum), clip_factor = std::min(1.0, max_norm / (norm + 1e-6));
  const Result got = run(grads, max_norm);
  EXPECT_LE(std::abs(got.norm - norm), ulp(norm)) << grads.shape();
  EXPECT_LE(std::abs(got.clip_factor - clip_factor), ulp(clip_factor)) << grads.shape();
}

TEST(GlobalNorm, matches_reference) {
  const Tensor grads = random_tensor({sized(1'000'000, 50'000)}, 1);
  expect_global_norm_matches(grads, 1.0);
  expect_global_norm_matches(grads, 1e6);
}

TEST(GlobalNorm, edges) {
  EXPECT_EQ(run(Tensor::empty({0}), 1.0).norm, 0);
  EXPECT_EQ(run(Tensor::empty({0}), 1.0).clip_factor, 1);
  for (const int64_t count : {1, 31, 32, 33, 1023, 1025, 4095, 4096, 4097}) {
    for (const float scale : {1.0f, 1e30f, 1e-30f}) {  // f32 squares would overflow or vanish
      expect_global_norm_matches(random_tensor({count}, 2, scale), 0.5);
    }
  }
  EXPECT_EQ(run(Tensor::full({4}, 10.0f), INFINITY).clip_factor, 1);
  EXPECT_TRUE(std::isinf(run(Tensor::full({2}, INFINITY), 1.0).norm));
  EXPECT_TRUE(std::isnan(run(Tensor::full({2}, NAN), 1.0).norm));
  EXPECT_TRUE(std::isnan(run(Tensor::full({2}, NAN), 1.0).clip_factor));
}

TEST(GlobalNorm, edges_threads) {
  const Tensor grads = random_tensor({100'001}, 3);
  const ThreadCount alone(1);
  const Result expected = run(grads, 1.0);
  for (int threads = 2; threads <= 3; ++threads) {
    const ThreadCount together(threads);
    const Result got = run(grads, 1.0);
    EXPECT_EQ(got.norm, expected.norm);
    EXPECT_EQ(got.clip_factor, expected.clip_factor);
  }
}

TEST(GlobalNorm, errors) {
  const Tensor grads = Tensor::zeros({4}), one = Tensor::zeros({1});
  EXPECT_ERROR(global_norm(Tensor::zeros({2, 2}), 1, one, one),
               "global_norm: grads must be [N], got [2, 2]");
  EXPECT_ERROR(global_norm(grads, 1, grads, one), "global_norm: norm must be [1], got [4]");
  EXPECT_ERROR(global_norm(grads, 1, one, grads), "global_norm: clip_factor must be [1], got [4]");
  EXPECT_ERROR(global_norm(grads, 0, one, one), "global_norm: max_norm must be positive, got 0");
  EXPECT_ERROR(global_norm(grads, NAN, one, one),
               "global_norm: max_norm must be positive, got nan");
}

}  // namespace
}  // namespace loopless::testing
