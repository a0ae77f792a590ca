#include "autograd/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

namespace loopless {
namespace {

using Arrays = std::vector<std::vector<double>>;

/// Magnitudes in [0.5, 1.5) and random signs: no element is too small to matter, none cancels all.
std::vector<double> random_signed(size_t count, std::mt19937_64& random) {
  std::uniform_real_distribution<double> magnitude(0.5, 1.5);
  std::vector<double> values(count);
  for (double& value : values) value = (random() & 1 ? 1.0 : -1.0) * magnitude(random);
  return values;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// d/ds of c . f(x + s v) at s = 0.
double derivative_along(const GradientCheck& check, const Arrays& x, const Arrays& v,
                        const std::vector<double>& c) {
  double at[2];
  for (int side = 0; side < 2; ++side) {
    const double s = side == 0 ? -check.step : check.step;
    Arrays moved = x;
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t j = 0; j < x[i].size(); ++j) moved[i][j] += s * v[i][j];
    }
    at[side] = dot(c, check.reference(moved));
  }
  return (at[1] - at[0]) / (2 * check.step);
}

std::string complaint(const std::string& where, double got, double want, double error,
                      double tolerance) {
  std::ostringstream out;
  out.precision(9);
  out << where << ": recorded gradient " << got << ", finite difference " << want << ", error "
      << error << " of the largest, tolerance " << tolerance;
  return out.str();
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (double value : values) result = std::max(result, std::abs(value));
  return result;
}

/// The recorded gradients of sum(c * op(x)); empty arrays where none arrived.
Arrays recorded_gradients(const GradientCheck& check, const std::vector<double>& c) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : check.inputs) leaves.push_back(leaf(input.clone()));
  const Tensor y = check.op(leaves);
  CHECK(y.numel() == static_cast<int64_t>(c.size()), "gradient check: the op gives ", y.numel(),
        " elements, the reference ", c.size());
  backward_from(y, Tensor::from(y.shape(), std::vector<float>(c.begin(), c.end())));
  Arrays gradients;
  for (const Tensor& x : leaves) {
    const Tensor grad = grad_of(x);
    const std::vector<float> values = grad.defined() ? grad.to_vector() : std::vector<float>();
    gradients.emplace_back(values.begin(), values.end());
  }
  return gradients;
}

std::string check_directions(const GradientCheck& check, const Arrays& x, const Arrays& g,
                             const std::vector<double>& c, std::mt19937_64& random) {
  for (int n = 0; n < check.directions; ++n) {
    Arrays v;
    double got = 0, scale = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      v.push_back(random_signed(x[i].size(), random));
      got += dot(g[i], v[i]);
      for (size_t j = 0; j < x[i].size(); ++j) scale += g[i][j] * g[i][j] * v[i][j] * v[i][j];
    }
    const double want = derivative_along(check, x, v, c);
    // The terms' rounding errors are independent: their sum grows like the root of their squares.
    const double error = std::abs(got - want) / std::max(std::sqrt(scale), 1e-30);
    const bool both_zero = got == 0 && std::abs(want) < 1e-12;
    if (!both_zero && !(error <= check.tolerance)) {
      return complaint("direction " + std::to_string(n), got, want, error, check.tolerance);
    }
  }
  return "";
}

std::string check_elements(const GradientCheck& check, const Arrays& x, const Arrays& g,
                           const std::vector<double>& c) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double scale = std::max(largest(g[i]), 1e-30);
    for (size_t j = 0; j < x[i].size(); ++j) {
      Arrays v;
      for (const std::vector<double>& array : x) v.emplace_back(array.size(), 0.0);
      v[i][j] = 1;
      const double want = derivative_along(check, x, v, c);
      const double error = std::abs(g[i][j] - want) / scale;
      const bool both_zero = g[i][j] == 0 && std::abs(want) < 1e-9;
      if (!both_zero && !(error <= check.tolerance)) {
        return complaint("input " + std::to_string(i) + ", element " + std::to_string(j), g[i][j],
                         want, error, check.tolerance);
      }
    }
  }
  return "";
}

}  // namespace

std::string check_gradient(const GradientCheck& check) {
  std::mt19937_64 random(check.seed);
  Arrays x;
  for (const Tensor& input : check.inputs) {
    const std::vector<float> values = input.to_vector();
    x.emplace_back(values.begin(), values.end());
  }
  std::vector<double> c = random_signed(check.reference(x).size(), random);
  for (double& value : c) value = static_cast<float>(value);  // the very number that the op sees
  const Arrays g = recorded_gradients(check, c);
  for (size_t i = 0; i < x.size(); ++i) {
    if (g[i].size() != x[i].size()) return "input " + std::to_string(i) + " received no gradient";
  }
  std::string problem = check_directions(check, x, g, c, random);
  if (problem.empty() && check.every_element) problem = check_elements(check, x, g, c);
  return problem;
}

}  // namespace loopless
