#include "ops/rms_norm/rms_norm.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

/// The formula of the header in type S on in = {x [rows, columns]} or {x, gain [columns]}.
auto reference_for(int64_t columns, RmsNormOptions options) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    std::vector<S> y(in[0].size());
    for (size_t begin = 0; begin < y.size(); begin += columns) {
      S squares = 0;
      for (int64_t c = 0; c < columns; ++c) squares += in[0][begin + c] * in[0][begin + c];
      const S norm = std::max(std::sqrt(squares), static_cast<S>(options.min_norm));
      const S rms = std::sqrt(norm * norm / columns + options.epsilon);
      for (int64_t c = 0; c < columns; ++c) {
        y[begin + c] = in[0][begin + c] / rms * (in.size() > 1 ? 1 + in[1][c] : 1);
      }
    }
    return y;
  };
}

auto op_for(RmsNormOptions options) {
  return [=](const std::vector<Tensor>& in) {
    return rms_norm(in[0], in.size() > 1 ? in[1] : Tensor(), options);
  };
}

void expect_rms_norm_matches(const std::vector<Tensor>& inputs, RmsNormOptions options) {
  expect_matches(op_for(options)(inputs), reference_for(inputs[0].columns(), options), inputs);
}

/// Where min_norm is taken, rstd is a constant: dx = rstd dy. Finite differences with any usable
/// step would leave that region.
void expect_constant_rstd_below_min_norm() {
  const Tensor x = leaf(random_tensor({1, 16}, 11, 1e-15f)), dy = random_tensor({1, 16}, 12);
  backward_from(rms_norm(x, Tensor(), kBlockNorm), dy);
  std::vector<double> expected = values_as<double>(dy);
  for (double& value : expected) value *= 4 / 1e-12;  // sqrt(16) / min_norm
  // Rounded: min_norm, its square, the floor, its root, the inverse and the product.
  EXPECT_LE(largest_difference(grad_of(x).to_vector(), expected),
            6 * ulp(largest_magnitude(expected)));
}

TEST(RmsNorm, matches_reference) {
  const int64_t rows = sized(300, 20);
  for (const RmsNormOptions& options : {kBlockNorm, kMemoryNorm}) {
    const Tensor x = random_tensor({2, rows, 256}, 1), gain = random_tensor({256}, 2, 0.5f);
    expect_rms_norm_matches({x, gain}, options);
    expect_rms_norm_matches({x}, options);
  }
}

TEST(RmsNorm, gradient) {
  for (const RmsNormOptions& options : {kBlockNorm, kMemoryNorm}) {
    const auto op = op_for(options);
    const Tensor small_x = random_tensor({2, 3, 5}, 3), small_gain = random_tensor({5}, 4, 0.5f);
    expect_gradient(op, reference_for(5, options), {small_x, small_gain}, true);
    expect_gradient(op, reference_for(5, options), {small_x}, true);
    for (const int64_t columns : {1, 31, 32, 33, 1025}) {
      const Tensor x = random_tensor({70, columns}, 5), gain = random_tensor({columns}, 6, 0.5f);
      expect_gradient(op, reference_for(columns, options), {x, gain});
    }
  }
}

TEST(RmsNorm, edges) {
  EXPECT_EQ(rms_norm(Tensor::empty({0, 8}), Tensor(), kBlockNorm).shape(), Shape({0, 8}));
  for (const int64_t columns : {1, 31, 32, 33, 1023, 1025}) {
    for (const float scale : {1.0f, 1e15f, 1e-5f, 1e-15f}) {
      const Tensor x = random_tensor({3, columns}, 7, scale);
      const Tensor gain = random_tensor({columns}, 8, 0.5f);
      expect_rms_norm_matches({x, gain}, kBlockNorm);
      expect_rms_norm_matches({x, gain}, kMemoryNorm);
    }
  }
  expect_rms_norm_matches({Tensor::zeros({2, 16})}, kBlockNorm);
  expect_rms_norm_matches({Tensor::zeros({2, 16})}, kMemoryNorm);
  expect_constant_rstd_below_min_norm();
  expect_same_for_any_threads(op_for(kBlockNorm),
                              {random_tensor({131, 515}, 9), random_tensor({515}, 10)});
}

TEST(RmsNorm, accumulates) {
  expect_accumulates(op_for(kBlockNorm), {random_tensor({70, 33}, 13), random_tensor({33}, 14)});
  expect_accumulates(op_for(kMemoryNorm), {random_tensor({4, 64}, 15)});
}

TEST(RmsNorm, errors) {
  const Tensor x = Tensor::zeros({4, 128, 768});
  EXPECT_ERROR(rms_norm(x, Tensor::zeros({512}), kBlockNorm),
               "rms_norm: gain must be [768] to match x [4, 128, 768], got [512]");
  EXPECT_ERROR(rms_norm(x, Tensor::zeros({768}, kI32), kBlockNorm),
               "rms_norm: gain must be f32, got i32");
  EXPECT_ERROR(rms_norm(Tensor::zeros({4}, kI32), Tensor(), kBlockNorm),
               "rms_norm: x must be f32, got i32");
  EXPECT_ERROR(rms_norm(Tensor::zeros({4, 0}), Tensor(), kBlockNorm),
               "rms_norm: x must be [..., C] with C > 0, got [4, 0]");
  EXPECT_ERROR(rms_norm(x, Tensor(), {}),
               "rms_norm: min_norm and epsilon must not be negative, and one must be positive, "
               "got 0 and 0");
}

}  // namespace
}  // namespace loopless::testing
