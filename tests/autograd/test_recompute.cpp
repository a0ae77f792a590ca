#include "tests/autograd/toy_ops.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

using Names = std::vector<std::string>;

/// x -> (w x)^2 + 2 x, and how often it ran.
struct Segment {
  Tensor w;
  int runs = 0;

  SegmentFn function() {
    return [this](const std::vector<Tensor>& x) {
      ++runs;
      const Tensor wx = multiply(w, x[0]);
      const Tensor twice = scale(x[0], 2);
      return add(multiply(wx, wx), twice);
    };
  }
};

TEST(Recompute, same_gradients_as_without) {
  const Tensor dy = random_tensor({50}, 3);
  Segment segment;
  Tensor x, plain_dx, plain_dw;
  const auto prepare = [&] {
    x = leaf(random_tensor({50}, 1));
    segment.w = parameter(random_tensor({50}, 2), Tensor::full({50}, 0.5f));
  };
  prepare();
  backward_from(scale(segment.function()({x}), 3), dy);
  plain_dx = grad_of(x), plain_dw = grad_of(segment.w);

  prepare();
  segment.runs = 0;
  const Tensor y = scale(recompute(segment.function(), {x}), 3);
  EXPECT_EQ(segment.runs, 1);
  const Observed observed;
  backward_from(y, dy);
  EXPECT_EQ(segment.runs, 2);
  EXPECT_EQ(observed.ops, Names({"scale", "recompute", "add", "multiply", "scale", "multiply"}));
  EXPECT_EQ(gradient(x), plain_dx.to_vector());
  EXPECT_EQ(gradient(segment.w), plain_dw.to_vector());
}

TEST(Recompute, keeps_nothing_of_the_inside) {
  const Tensor x = leaf(Tensor::full({10'000}, 1));
  const auto segment = [](const std::vector<Tensor>& in) {
    Tensor y = in[0];
    for (int n = 0; n < 10; ++n) y = multiply(y, y);
    return y;
  };
  const int64_t before = allocator_stats().bytes_in_use;
  const Tensor y = recompute(segment, {x});
  EXPECT_EQ(allocator_stats().bytes_in_use, before + 40'960);  // y alone
}

TEST(Recompute, chained_segments) {
  const Tensor x = leaf(tensor({2}));
  const auto square = [](const std::vector<Tensor>& in) { return multiply(in[0], in[0]); };
  backward(recompute(square, {recompute(square, {recompute(square, {x})})}));  // x^8
  EXPECT_EQ(gradient(x), Floats({1024}));
}

TEST(Recompute, nested_segments) {
  const Tensor x = leaf(tensor({2})), w = parameter(tensor({3}), tensor({0}));
  const auto inner = [&](const std::vector<Tensor>& in) { return multiply(in[0], w); };
  const auto outer = [&](const std::vector<Tensor>& in) {
    return multiply(recompute(inner, {in[0]}), in[0]);  // w x^2
  };
  backward(recompute(outer, {x}));
  EXPECT_EQ(gradient(x), Floats({12}));
  EXPECT_EQ(gradient(w), Floats({4}));
}

TEST(Recompute, retained_graph) {
  const Tensor x = leaf(tensor({2})), w = parameter(tensor({3}), tensor({0}));
  const auto f = [&](const std::vector<Tensor>& in) { return multiply(in[0], w); };
  const Tensor y = recompute(f, {x});
  backward(y, {.retain_graph = true});
  backward(y);
  EXPECT_EQ(gradient(x), Floats({6}));
  EXPECT_EQ(gradient(w), Floats({4}));
}

TEST(Recompute, parameters_learn_where_no_input_needs_a_gradient) {
  const Tensor w = parameter(tensor({3}), tensor({0})), constant = tensor({2});
  const auto f = [&](const std::vector<Tensor>& in) { return multiply(in[0], w); };
  backward(recompute(f, {constant}));
  EXPECT_EQ(gradient(w), Floats({2}));
}

TEST(Recompute, some_inputs_need_a_gradient) {
  const Tensor x = leaf(tensor({2})), constant = tensor({5}), unused = leaf(tensor({7}));
  const auto f = [](const std::vector<Tensor>& in) {
    EXPECT_EQ(needs_grad({in[1]}), false);
    return multiply(in[0], in[1]);
  };
  backward(recompute(f, {x, constant, unused}));
  EXPECT_EQ(gradient(x), Floats({5}));
  EXPECT_FALSE(grad_of(constant).defined());
  EXPECT_FALSE(grad_of(unused).defined());
}

TEST(Recompute, one_input_twice) {
  const Tensor x = leaf(tensor({3}));
  const auto f = [](const std::vector<Tensor>& in) { return multiply(in[0], scale(in[1], 2)); };
  backward(recompute(f, {x, x}));
  EXPECT_EQ(gradient(x), Floats({12}));
}

TEST(Recompute, a_segment_that_returns_its_input) {
  const Tensor x = leaf(tensor({3}));
  backward(scale(recompute([](const std::vector<Tensor>& in) { return in[0]; }, {x}), 2));
  EXPECT_EQ(gradient(x), Floats({2}));
}

TEST(Recompute, a_frozen_segment_passes_nothing_on) {
  const Tensor x = leaf(tensor({3}));
  const auto frozen = [](const std::vector<Tensor>& in) { return scale(in[0], 2); };
  const Tensor y = multiply(recompute(frozen, {tensor({4})}), x);
  backward(y);
  EXPECT_EQ(gradient(x), Floats({8}));
}

TEST(Recompute, runs_once_under_no_grad) {
  const Tensor x = leaf(tensor({3}));
  int runs = 0;
  const NoGrad no_grad;
  const Tensor y = recompute(
      [&](const std::vector<Tensor>& in) {
        ++runs;
        return scale(in[0], 2);
      },
      {x});
  EXPECT_EQ(y.grad_meta(), nullptr);
  EXPECT_EQ(y.item(), 6);
  EXPECT_EQ(runs, 1);
}

TEST(Recompute, backward_under_no_grad) {
  const Tensor x = leaf(tensor({3}));
  const Tensor y =
      recompute([](const std::vector<Tensor>& in) { return multiply(in[0], in[0]); }, {x});
  const NoGrad no_grad;
  backward(y);
  EXPECT_EQ(gradient(x), Floats({6}));
  EXPECT_FALSE(needs_grad({x}));  // as before
}

}  // namespace
}  // namespace loopless::testing
