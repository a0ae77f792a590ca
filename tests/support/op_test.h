/// What the five cases of every op test are written with.
///
/// A reference is a generic lambda on flat row-major arrays, called with float and with double:
///
///   auto reference = [=]<class S>(const std::vector<std::vector<S>>& in) {
///     return std::vector<S>...;
///   };
///
/// In double it is the truth; in float it shows what error the naive loop makes, and an op may
/// make twice that.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/gradient_check.h"

namespace loopless::testing {

/// LOOPLESS_TEST_SIZE=small: the same cases at small sizes, for sanitizers and emulators.
inline bool small_sizes() {
  const char* size = std::getenv("LOOPLESS_TEST_SIZE");
  return size && std::string(size) == "small";
}
inline int64_t sized(int64_t full, int64_t small) { return small_sizes() ? small : full; }

/// Standard normal times `scale`, the same for the same seed.
inline Tensor random_tensor(const Shape& shape, uint64_t seed, float scale = 1.0f) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(shape.numel());
  for (float& value : values) value = normal(random);
  return Tensor::from(shape, values);
}

inline Tensor random_ids(const Shape& shape, int32_t lowest, int32_t highest, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int32_t> uniform(lowest, highest);
  std::vector<int32_t> values(shape.numel());
  for (int32_t& value : values) value = uniform(random);
  return Tensor::from(shape, values);
}

template <class S>
std::vector<S> values_as(const Tensor& x) {
  const std::vector<float> values = x.to_vector();
  return std::vector<S>(values.begin(), values.end());
}
template <class S>
std::vector<std::vector<S>> values_as(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<S>> result;
  for (const Tensor& x : tensors) result.push_back(values_as<S>(x));
  return result;
}

/// Largest difference; infinite when the sizes differ or anything is NaN.
template <class A, class B>
double largest_difference(const std::vector<A>& a, const std::vector<B>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (static_cast<double>(a[i]) == static_cast<double>(b[i])) continue;  // equal infinities
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    worst = difference >= 0 ? std::max(worst, difference) : INFINITY;
  }
  return worst;
}
template <class A>
double largest_magnitude(const std::vector<A>& a) {
  double worst = 0;
  for (A value : a) worst = std::max(worst, std::abs(static_cast<double>(value)));
  return worst;
}

/// One unit in the last place of a float of this size.
inline double ulp(double magnitude) { return std::max(magnitude, 1e-38) * 0x1p-23; }

/// y against the reference in float64: at most twice the error of the reference in float, plus
/// `extra_ulps` units of the largest value (1 by default; more needs a reason beside the call).
template <class Reference>
void expect_matches(const Tensor& y, const Reference& reference, const std::vector<Tensor>& inputs,
                    double extra_ulps = 1) {
  const std::vector<double> truth = reference(values_as<double>(inputs));
  const std::vector<float> naive = reference(values_as<float>(inputs));
  const double tolerance =
      2 * largest_difference(naive, truth) + extra_ulps * ulp(largest_magnitude(truth));
  ASSERT_TRUE(std::isfinite(tolerance)) << "the naive loop overflows: a test of nothing";
  EXPECT_LE(largest_difference(y.to_vector(), truth), tolerance) << "shape " << y.shape();
}

/// The recorded gradients against finite differences of the reference (autograd/gradient_check.h).
template <class Op, class Reference>
void expect_gradient(const Op& op, const Reference& reference, const std::vector<Tensor>& inputs,
                     bool every_element = false, double tolerance = 1e-5) {
  GradientCheck check;
  check.inputs = inputs;
  check.op = op;
  check.reference = [&](const std::vector<std::vector<double>>& x) { return reference(x); };
  check.every_element = every_element;
  check.tolerance = tolerance;
  EXPECT_EQ(check_gradient(check), "");
}

/// The gradient law: backward twice on a retained graph doubles every gradient, and a parameter's
/// gradient is added to what its buffer held.
template <class Op>
void expect_accumulates(const Op& op, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> leaves, parameters;
  for (const Tensor& input : inputs) {
    leaves.push_back(leaf(input.clone()));
    parameters.push_back(parameter(input.clone(), Tensor::full(input.shape(), 0.5f)));
  }
  const Tensor y = op(leaves);
  const Tensor dy = random_tensor(y.shape(), 7);
  backward_from(y, dy, {.retain_graph = true});
  std::vector<std::vector<float>> once;
  for (const Tensor& x : leaves) {
    ASSERT_TRUE(grad_of(x).defined());
    once.push_back(grad_of(x).to_vector());
  }
  backward_from(y, dy);
  backward_from(op(parameters), dy);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<float> doubled = once[i], added = once[i];
    for (float& value : doubled) value *= 2;
    for (float& value : added) value += 0.5f;
    // Adding inside a matrix product rounds in another order than adding afterwards: a few ulp.
    const double tolerance = 8 * ulp(largest_magnitude(doubled) + 0.5);
    EXPECT_LE(largest_difference(grad_of(leaves[i]).to_vector(), doubled), tolerance);
    EXPECT_LE(largest_difference(grad_of(parameters[i]).to_vector(), added), tolerance);
    EXPECT_GT(largest_magnitude(once[i]), 0) << "input " << i << ": a test of nothing";
  }
}

/// `statement` throws Error with exactly this text.
#define EXPECT_ERROR(statement, text)                      \
  try {                                                    \
    statement;                                             \
    ADD_FAILURE() << "no error; expected: " << (text);     \
  } catch (const ::loopless::Error& error) {               \
    EXPECT_STREQ(error.what(), std::string(text).c_str()); \
  }

}  // namespace loopless::testing
