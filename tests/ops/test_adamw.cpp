#include "ops/adamw/adamw.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

const AdamWOptions kOptions{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1};

AdamWState state_of(float lr, int32_t step, float clip_factor, int32_t skip = 0) {
  return {Tensor::full({1}, lr), Tensor::from<int32_t>({1}, {step}), Tensor::full({1}, clip_factor),
          Tensor::from<int32_t>({1}, {skip})};
}

/// One of the results (0: parameters, 1: m, 2: v) of the header's formulas on
/// in = {parameters, grads, m, v}.
auto reference_for(int result, const AdamWState& state, const AdamWOptions& options) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    const S lr = state.lr.item(), clip_factor = state.clip_factor.item();
    const S beta1 = options.beta1, beta2 = options.beta2;
    const S step = state.step.data<int32_t>()[0];
    std::vector<S> y(in[0].size());
    for (size_t i = 0; i < y.size(); ++i) {
      const S g = clip_factor * in[1][i];
      const S m = beta1 * in[2][i] + (1 - beta1) * g;
      const S v = beta2 * in[3][i] + (1 - beta2) * g * g;
      const S m_hat = m / (1 - std::pow(beta1, step)), v_hat = v / (1 - std::pow(beta2, step));
      const S p = in[0][i] * (1 - lr * static_cast<S>(options.weight_decay)) -
                  lr * m_hat / (std::sqrt(v_hat) + static_cast<S>(options.epsilon));
      y[i] = result == 0 ? p : result == 1 ? m : v;
    }
    return y;
  };
}

/// {parameters, grads, m, v} in the middle of a run.
std::vector<Tensor> random_run(int64_t count, float grad_scale = 1.0f) {
  Tensor v = random_tensor({count}, 4, grad_scale);
  for (int64_t i = 0; i < count; ++i) v.data()[i] *= v.data()[i];
  return {random_tensor({count}, 1), random_tensor({count}, 2, grad_scale),
          random_tensor({count}, 3, grad_scale), v};
}

/// {parameters, m, v} after one step.
std::vector<Tensor> stepped(const std::vector<Tensor>& run, const AdamWState& state,
                            const AdamWOptions& options = kOptions) {
  const Tensor parameters = run[0].clone(), m = run[2].clone(), v = run[3].clone();
  adamw(parameters, run[1], m, v, state, options);
  return {parameters, m, v};
}

void expect_adamw_matches(const std::vector<Tensor>& run, const AdamWState& state,
                          const AdamWOptions& options = kOptions) {
  const std::vector<Tensor> got = stepped(run, state, options);
  for (int i = 0; i < 3; ++i) expect_matches(got[i], reference_for(i, state, options), run);
}

TEST(Adamw, matches_reference) {
  const std::vector<Tensor> run = random_run(sized(100'000, 20'000));
  for (const int32_t step : {1, 2, 100, 150'000}) {
    expect_adamw_matches(run, state_of(3e-4f, step, 0.7f));
  }
  expect_adamw_matches(run, state_of(0.1f, 3, 1.0f), {.beta1 = 0, .beta2 = 0.999});
}

TEST(Adamw, edges) {
  stepped(random_run(0), state_of(0.1f, 1, 1));
  for (const int64_t count : {1, 31, 32, 33, 1023, 1025, 4095, 4096, 4097}) {
    for (const float scale : {1.0f, 1e15f, 1e-10f}) {
      expect_adamw_matches(random_run(count, scale), state_of(0.01f, 7, 0.5f));
    }
  }
  expect_adamw_matches(
      {Tensor::full({9}, 1), Tensor::zeros({9}), Tensor::zeros({9}), Tensor::zeros({9})},
      state_of(0.1f, 1, 1));
}

// The first step moves each parameter by lr against the sign of its gradient, whatever its size.
TEST(Adamw, edges_first_step) {
  const std::vector<Tensor> run = {Tensor::zeros({2}), Tensor::from<float>({2}, {3e4f, -2e-3f}),
                                   Tensor::zeros({2}), Tensor::zeros({2})};
  const std::vector<float> p = stepped(run, state_of(0.25f, 1, 1))[0].to_vector();
  EXPECT_NEAR(p[0], -0.25, 4 * ulp(0.25));
  EXPECT_NEAR(p[1], 0.25 * 2e-3 / (2e-3 + 1e-8), 4 * ulp(0.25));
}

// Warm-up starts at learning rate 0: the moments move, the parameters do not.
TEST(Adamw, edges_zero_lr) {
  const std::vector<Tensor> run = random_run(33);
  const std::vector<Tensor> got = stepped(run, state_of(0, 1, 1));
  EXPECT_EQ(got[0].to_vector(), run[0].to_vector());
  EXPECT_NE(got[1].to_vector(), run[2].to_vector());
  EXPECT_NE(got[2].to_vector(), run[3].to_vector());
}

// A skipped step leaves no trace, not even of a gradient that is no number.
TEST(Adamw, edges_skip) {
  std::vector<Tensor> run = random_run(33);
  run[1] = Tensor::full({33}, NAN);
  const std::vector<Tensor> got = stepped(run, state_of(0.1f, 0, NAN, 1));
  EXPECT_EQ(got[0].to_vector(), run[0].to_vector());
  EXPECT_EQ(got[1].to_vector(), run[2].to_vector());
  EXPECT_EQ(got[2].to_vector(), run[3].to_vector());
}

TEST(Adamw, edges_threads) {
  const std::vector<Tensor> run = random_run(100'003);
  const ThreadCount alone(1);
  const std::vector<Tensor> expected = stepped(run, state_of(0.01f, 5, 0.5f));
  for (int threads = 2; threads <= 3; ++threads) {
    const ThreadCount together(threads);
    const std::vector<Tensor> got = stepped(run, state_of(0.01f, 5, 0.5f));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(got[i].to_vector(), expected[i].to_vector());
  }
}

TEST(Adamw, errors) {
  const Tensor four = Tensor::zeros({4}), three = Tensor::zeros({3});
  const AdamWState state = state_of(0.1f, 1, 1);
  EXPECT_ERROR(adamw(Tensor::zeros({2, 2}), four, four, four, state, kOptions),
               "adamw: parameters must be [N], got [2, 2]");
  EXPECT_ERROR(adamw(four, three, four, four, state, kOptions),
               "adamw: grads must be [4], got [3]");
  EXPECT_ERROR(adamw(four, four, three, four, state, kOptions), "adamw: m must be [4], got [3]");
  EXPECT_ERROR(adamw(four, four, four, three, state, kOptions), "adamw: v must be [4], got [3]");
  EXPECT_ERROR(adamw(four, four, four, four, {state.lr, state.lr, state.lr, state.lr}, kOptions),
               "adamw: step must be i32, got f32");
  AdamWState no_skip = state;
  no_skip.skip = four;
  EXPECT_ERROR(adamw(four, four, four, four, no_skip, kOptions),
               "adamw: skip must be i32, got f32");
  EXPECT_ERROR(adamw(four, four, four, four, {}, kOptions), "adamw: lr is undefined");
  EXPECT_ERROR(adamw(four, four, four, four, state, {.beta1 = 1}),
               "adamw: beta1 must be in [0, 1), got 1");
  EXPECT_ERROR(adamw(four, four, four, four, state, {.beta2 = -0.5}),
               "adamw: beta2 must be in [0, 1), got -0.5");
  EXPECT_ERROR(adamw(four, four, four, four, state, {.epsilon = 0}),
               "adamw: epsilon must be positive, got 0");
  EXPECT_ERROR(adamw(four, four, four, four, state, {.weight_decay = -1}),
               "adamw: weight_decay must not be negative, got -1");
}

}  // namespace
}  // namespace loopless::testing
