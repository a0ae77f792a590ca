// The bounds that ops/simd.h states for its functions, over fine grids. This file is compiled for
// AVX2; the tests of the ops that use the functions cover the other instruction set.
#define LOOPLESS_ISA avx2
#include "ops/simd.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

using avx2::erf_f32;
using avx2::exp_f32;
using avx2::log_f32;

/// Calls f(x) for `count` floats, equally spaced from `first` to `last`.
template <class F>
void for_grid(double first, double last, const F& f) {
  const int64_t count = sized(2000000, 20000);
  for (int64_t i = 0; i <= count; ++i) {
    f(static_cast<float>(first + (last - first) * static_cast<double>(i) / count));
  }
}

double relative_error(float got, double want) { return std::abs(got - want) / std::abs(want); }

TEST(Simd, exp_f32) {
  double worst = 0;
  for_grid(-87.3, 88.7, [&](float x) {
    worst = std::max(worst, relative_error(exp_f32(x), std::exp(static_cast<double>(x))));
  });
  EXPECT_LT(worst, 1.2e-7);
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-87.4f), 0.0f);
  EXPECT_EQ(exp_f32(-INFINITY), 0.0f);
  EXPECT_EQ(exp_f32(88.8f), INFINITY);
  EXPECT_EQ(exp_f32(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(exp_f32(NAN)));
}

TEST(Simd, log_f32) {
  double worst = 0, worst_near_one = 0;
  const auto check = [&](float x) {
    const double want = std::log(static_cast<double>(x)), got = log_f32(x);
    if (std::abs(x - 1) < 0.1) {
      worst_near_one = std::max(worst_near_one, std::abs(got - want));
    } else {
      worst = std::max(worst, relative_error(log_f32(x), want));
    }
  };
  for_grid(0.4, 3.0, check);
  for_grid(-126, 127.9, [&](float exponent) { check(std::exp2(exponent)); });
  EXPECT_LT(worst, 2.5e-7);
  EXPECT_LT(worst_near_one, 1e-7);
  EXPECT_EQ(log_f32(1.0f), 0.0f);
}

TEST(Simd, erf_f32) {
  double worst = 0;
  for_grid(-6, 6, [&](float x) {
    worst = std::max(worst, std::abs(erf_f32(x) - std::erf(static_cast<double>(x))));
    EXPECT_EQ(erf_f32(-x), -erf_f32(x));
  });
  EXPECT_LT(worst, 1e-7);
  EXPECT_EQ(erf_f32(4.5f), 1.0f);
  EXPECT_EQ(erf_f32(INFINITY), 1.0f);
  EXPECT_EQ(erf_f32(-1e30f), -1.0f);
  EXPECT_EQ(erf_f32(0.0f), 0.0f);
  EXPECT_TRUE(std::isnan(erf_f32(NAN)));
}

}  // namespace
}  // namespace loopless::testing
