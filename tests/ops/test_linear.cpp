#include "ops/linear/linear.h"
#include "ops/linear/matmul.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

/// The formula of the header in type S on in = {x [rows, inputs], weight [outputs, inputs]} and
/// perhaps bias [outputs].
auto reference_for(int64_t inputs, int64_t outputs) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    const int64_t rows = inputs > 0 ? static_cast<int64_t>(in[0].size()) / inputs : 0;
    std::vector<S> y;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t o = 0; o < outputs; ++o) {
        S sum = 0;
        for (int64_t i = 0; i < inputs; ++i) sum += in[0][r * inputs + i] * in[1][o * inputs + i];
        y.push_back(in.size() > 2 ? sum + in[2][o] : sum);
      }
    }
    return y;
  };
}

Tensor apply(const std::vector<Tensor>& in) {
  return linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor());
}

std::vector<Tensor> random_inputs(int64_t rows, int64_t inputs, int64_t outputs, float scale = 1) {
  return {random_tensor({rows, inputs}, 1, scale), random_tensor({outputs, inputs}, 2, scale),
          random_tensor({outputs}, 3)};
}

TEST(Linear, matches_reference) {
  for (const auto& [inputs, outputs] : {std::pair{256, 512}, {768, 100}, {64, 384}}) {
    std::vector<Tensor> in = random_inputs(sized(130, 13), inputs, outputs);
    expect_matches(apply(in), reference_for(inputs, outputs), in);
    in.pop_back();
    expect_matches(apply(in), reference_for(inputs, outputs), in);
  }
  const std::vector<Tensor> in = random_inputs(30, 8, 24);
  const Tensor y = linear(in[0].view({2, 3, 5, 8}), in[1], in[2]);
  EXPECT_EQ(y.shape(), Shape({2, 3, 5, 24}));
  expect_matches(y, reference_for(8, 24), in);
}

TEST(Linear, gradient) {
  expect_gradient(apply, reference_for(5, 7), random_inputs(4, 5, 7), true);
  expect_gradient(apply, reference_for(5, 7), {random_tensor({4, 5}, 4), random_tensor({7, 5}, 5)},
                  true);
  for (const int64_t size : {1, 31, 32, 33}) {
    expect_gradient(apply, reference_for(size, 2 * size), random_inputs(90, size, 2 * size));
  }
}

TEST(Linear, edges) {
  EXPECT_EQ(apply(random_inputs(0, 4, 3)).shape(), Shape({0, 3}));
  EXPECT_EQ(apply(random_inputs(3, 4, 0)).shape(), Shape({3, 0}));
  const Tensor empty_sum = apply(random_inputs(1, 0, 6));
  EXPECT_EQ(empty_sum.to_vector(), random_tensor({6}, 3).to_vector());

  for (const int64_t size : {1, 31, 32, 33, 1023, 1025}) {
    for (const float scale : {1.0f, 1e15f, 1e-15f}) {
      const std::vector<Tensor> in = random_inputs(3, size, 17, scale);
      expect_matches(apply(in), reference_for(size, 17), in);
    }
  }
  if (!matmul_uses_onednn()) {  // which promises it for one number of threads alone
    expect_same_for_any_threads(apply, random_inputs(sized(300, 90), 200, 150));
  }
}

TEST(Linear, accumulates) {
  expect_accumulates(apply, random_inputs(70, 33, 40));
  expect_accumulates(apply, {random_tensor({4, 64}, 6), random_tensor({16, 64}, 7)});

  // Without rows there is nothing to add: a written gradient is zero, an added one stays.
  const std::vector<Tensor> in = random_inputs(0, 4, 3);
  const Tensor weight = leaf(in[1]), bias = parameter(in[2], Tensor::full({3}, 0.5f));
  backward_from(linear(in[0], weight, bias), Tensor::empty({0, 3}));
  EXPECT_EQ(grad_of(weight).to_vector(), std::vector<float>(12, 0.0f));
  EXPECT_EQ(grad_of(bias).to_vector(), std::vector<float>(3, 0.5f));
}

TEST(Linear, errors) {
  const Tensor x = Tensor::zeros({4, 128, 768}), weight = Tensor::zeros({512, 768});
  EXPECT_ERROR(linear(x, Tensor::zeros({768, 512})),
               "linear: weight must be [any, 768] to match x [4, 128, 768], got [768, 512]");
  EXPECT_ERROR(linear(x, weight, Tensor::zeros({768})),
               "linear: bias must be [512] to match weight [512, 768], got [768]");
  EXPECT_ERROR(linear(Tensor::zeros({}), weight), "linear: x must be [..., C], got []");
  EXPECT_ERROR(linear(Tensor::zeros({768}, kI32), weight), "linear: x must be f32, got i32");
  EXPECT_ERROR(linear(x, Tensor::zeros({512, 768}, kI32)), "linear: weight must be f32, got i32");
  EXPECT_ERROR(linear(x, weight, Tensor::zeros({512}, kI32)), "linear: bias must be f32, got i32");
}

TEST(Linear, kept_packed_gives_the_same) {
  const std::vector<Tensor> in = random_inputs(34, 400, 90);
  const Tensor before = apply(in);
  {
    const KeepWeightsPacked keep;
    expect_matches(apply(in), reference_for(400, 90), in);
    expect_gradient(apply, reference_for(400, 90), in);
    const Tensor first = apply(in);
    // With oneDNN, sums are added in another order.
    if (!matmul_uses_onednn()) {
      EXPECT_EQ(first.to_vector(), before.to_vector());
    }
    in[1].zero();  // breaks the rule, and so shows that the packed copy is what is read
    EXPECT_EQ(apply(in).to_vector(), first.to_vector());
    const KeepWeightsPacked inner;
    EXPECT_EQ(apply(in).to_vector(), first.to_vector());
  }
  EXPECT_NE(apply(in).to_vector(), before.to_vector());
}

}  // namespace
}  // namespace loopless::testing
