#include "autograd/autograd.h"
#include "tests/autograd/toy_ops.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

using Names = std::vector<std::string>;

TEST(Autograd, chain) {
  const Tensor x = leaf(tensor({1, 2, 3})), w = leaf(tensor({4, 5, 6}));
  const Tensor y = scale(multiply(x, w), 2);
  EXPECT_EQ(y.to_vector(), Floats({8, 20, 36}));
  backward_from(y, tensor({1, 10, 100}));
  EXPECT_EQ(gradient(x), Floats({8, 100, 1200}));
  EXPECT_EQ(gradient(w), Floats({2, 40, 600}));
  EXPECT_FALSE(grad_of(y).defined());  // only leaves keep theirs
}

TEST(Autograd, loss_starts_with_one) {
  const Tensor x = leaf(tensor({3}));
  backward(multiply(x, x));
  EXPECT_EQ(gradient(x), Floats({6}));
  const Tensor scalar = leaf(Tensor::full({}, 5));
  backward(scale(scalar, 7));
  EXPECT_EQ(grad_of(scalar).shape(), Shape());
  EXPECT_EQ(grad_of(scalar).item(), 7);
}

TEST(Autograd, dropped_outputs_hand_their_gradient_on) {
  // Nobody but the graph holds what is between: neither this test nor the closure of `scale`.
  const Tensor x = leaf(tensor({1, 1}));
  backward_from(scale(scale(scale(x, 2), 3), 5), tensor({1, 2}));
  EXPECT_EQ(gradient(x), Floats({30, 60}));
}

TEST(Autograd, diamonds) {
  const Tensor x = leaf(tensor({1, 2}));
  const Tensor a = scale(x, 2), b = scale(x, 3), c = add(a, b), y = add(multiply(c, a), c);
  const Observed observed;
  backward_from(y, tensor({1, 1}));
  // y = 10 x^2 + 5 x. Each node once, the latest first.
  EXPECT_EQ(gradient(x), Floats({25, 45}));
  EXPECT_EQ(observed.ops, Names({"add", "multiply", "add", "scale", "scale"}));
}

TEST(Autograd, a_ladder_of_diamonds_runs_each_node_once) {
  const Tensor x = leaf(tensor({1}));
  Tensor y = x;
  for (int n = 0; n < 60; ++n) y = add(y, y);  // 2^60 paths
  const Observed observed;
  backward(y);
  EXPECT_EQ(observed.ops.size(), 60u);
  EXPECT_EQ(gradient(x), Floats({0x1p60f}));
}

TEST(Autograd, latest_node_first_wherever_it_hangs) {
  const Tensor x = leaf(tensor({1}));
  const Tensor early = pass(x), late = scale(x, 2);
  const Tensor y = multiply(late, early);
  const Observed observed;
  backward(y);
  EXPECT_EQ(observed.ops, Names({"multiply", "scale", "pass"}));
}

TEST(Autograd, one_tensor_twice_in_an_op) {
  const Tensor x = leaf(tensor({3, -5}));
  backward_from(multiply(x, x), tensor({1, 10}));
  EXPECT_EQ(gradient(x), Floats({6, -100}));
  backward_from(add(x, x), tensor({1, 1}));
  EXPECT_EQ(gradient(x), Floats({8, -98}));
  const Tensor w = parameter(tensor({3, -5}), tensor({0.5f, 0.5f}));
  const Tensor flat = grad_of(w);
  backward_from(multiply(w, w), tensor({1, 10}));
  EXPECT_EQ(flat.to_vector(), Floats({6.5f, -99.5f}));
}

TEST(Autograd, inputs_that_need_no_gradient) {
  const Tensor x = leaf(tensor({2})), constant = tensor({3});
  const Tensor y =
      record("probe", tensor({6}), {x, constant, Tensor()}, [](const Tensor&, Gradients d) {
        ASSERT_EQ(d.size(), 3u);
        EXPECT_TRUE(d[0].wanted());
        EXPECT_FALSE(d[1].wanted());
        EXPECT_FALSE(d[2].wanted());
        EXPECT_EQ(d[1].target().data(), nullptr);
        d[2].take(tensor({1}));  // no effect
        d[0].take(tensor({3}));
      });
  backward(y);
  EXPECT_EQ(gradient(x), Floats({3}));
  EXPECT_FALSE(grad_of(constant).defined());
  EXPECT_TRUE(needs_grad({constant, x}));
  EXPECT_FALSE(needs_grad({constant, Tensor()}));
  EXPECT_EQ(scale(constant, 2).grad_meta(), nullptr);
}

TEST(Autograd, a_branch_without_gradient_stays_without) {
  const Tensor x = leaf(tensor({2})), unused = leaf(tensor({2}));
  const Tensor side = scale(unused, 2);
  const Tensor y = record("ignores", tensor({1}), {x, side},
                          [](const Tensor& dy, Gradients d) { d[0].take(dy); });
  const Observed observed;
  backward(y);
  EXPECT_EQ(observed.ops, Names({"ignores"}));
  EXPECT_FALSE(grad_of(unused).defined());
}

TEST(Autograd, no_grad) {
  const Tensor x = leaf(tensor({2}));
  {
    const NoGrad outer;
    {
      const NoGrad inner;
      EXPECT_FALSE(needs_grad({x}));
    }
    EXPECT_FALSE(needs_grad({x}));
    EXPECT_EQ(scale(x, 2).grad_meta(), nullptr);
    EXPECT_EQ(reshape(x, {1, 1}).grad_meta(), nullptr);
    EXPECT_EQ(rows(parameter(x, tensor({0})), 0, 1).grad_meta(), nullptr);
  }
  EXPECT_TRUE(needs_grad({x}));
}

TEST(Autograd, detach_cuts) {
  const Tensor x = leaf(tensor({3}));
  const Tensor y = scale(x, 2);
  EXPECT_TRUE(detach(y).shares_storage_with(y));
  backward(multiply(y, detach(y)));
  EXPECT_EQ(gradient(x), Floats({12}));
}

TEST(Autograd, retain_graph) {
  const Tensor x = leaf(tensor({2}));
  const Tensor y = multiply(scale(x, 3), x);
  backward(y, {.retain_graph = true});
  EXPECT_EQ(gradient(x), Floats({12}));
  backward(y);
  EXPECT_EQ(gradient(x), Floats({24}));
  EXPECT_ERROR(backward(y),
               "multiply: backward ran before and freed what it saved; "
               "retain_graph keeps it");
  EXPECT_EQ(gradient(x), Floats({24}));
}

TEST(Autograd, a_failed_backward_leaves_nothing_behind) {
  const Tensor x = leaf(tensor({1}));
  const Tensor early = scale(x, 2), late = scale(x, 3);
  backward(late);
  EXPECT_ERROR(backward(add(early, late)),
               "scale: backward ran before and freed what it saved; "
               "retain_graph keeps it");
  clear_grad(x);
  backward(early);  // had been waiting with a gradient
  EXPECT_EQ(gradient(x), Floats({2}));
}

TEST(Autograd, backward_frees_what_was_saved) {
  const Tensor x = leaf(Tensor::full({10'000}, 1)), dy = Tensor::full({10'000}, 1);
  const int64_t before = allocator_stats().bytes_in_use;
  Tensor y = scale(x, 2);
  const int64_t one = allocator_stats().bytes_in_use - before;
  for (int n = 0; n < 10; ++n) y = multiply(y, y);
  EXPECT_EQ(allocator_stats().bytes_in_use, before + 11 * one);
  backward_from(y, dy, {.retain_graph = true});
  EXPECT_EQ(allocator_stats().bytes_in_use, before + 12 * one);  // and the gradient of x
  backward_from(y, dy);
  EXPECT_EQ(allocator_stats().bytes_in_use, before + 2 * one);  // y and the gradient of x
}

TEST(Autograd, backward_frees_on_its_way) {
  const Tensor x = leaf(Tensor::full({10'000}, 1));
  const Tensor dy = Tensor::full({10'000}, 1);
  Tensor y = scale(x, 2);
  for (int n = 0; n < 10; ++n) y = multiply(y, y);
  const int64_t before = allocator_stats().bytes_in_use;
  int64_t at_end = 0;
  observe_backward([&](const char* op, const Tensor&) {
    if (op == std::string("scale")) at_end = allocator_stats().bytes_in_use;
  });
  backward_from(y, dy);
  observe_backward({});
  EXPECT_LT(at_end, before - 8 * 40'000);
}

TEST(Autograd, long_chains) {
  const int64_t length = sized(1'000'000, 100'000);  // frames of a recursion would take 100 MB
  const Tensor x = leaf(tensor({1}));
  {
    Tensor y = x;  // each node holds the one before twice: as its input, and in its closure
    for (int64_t n = 0; n < length; ++n) {
      y = record("pass", y.view({1}), {y}, [y](const Tensor& dy, Gradients d) { d[0].take(dy); });
    }
  }
  Tensor y = x;
  for (int64_t n = 0; n < length; ++n) y = pass(y);
  backward(y);
  EXPECT_EQ(gradient(x), Floats({1}));
}

TEST(Autograd, errors) {
  const Tensor x = leaf(tensor({1, 2}));
  EXPECT_ERROR(backward(scale(x, 1)), "backward: the loss must have one element, got [2]");
  EXPECT_ERROR(backward(Tensor()), "backward: the loss must have one element, got []");
  EXPECT_ERROR(backward(tensor({1})), "backward: the tensor was not recorded");
  EXPECT_ERROR(backward_from(detach(x), x), "backward: the tensor was not recorded");
  EXPECT_ERROR(backward_from(Tensor(), x), "backward: the tensor was not recorded");
  EXPECT_ERROR(backward_from(scale(x, 1), tensor({1, 2, 3})), "backward: dy must be [2], got [3]");
  EXPECT_ERROR(backward_from(scale(x, 1), Tensor()), "backward: dy is undefined");
  EXPECT_ERROR(clear_grad(parameter(x, tensor({0, 0}))),
               "clear_grad: only for leaves that are no parameters");
  EXPECT_ERROR(clear_grad(tensor({1})), "clear_grad: only for leaves that are no parameters");
  EXPECT_ERROR(parameter(x, tensor({0})), "parameter: grad must be [2], got [1]");
  EXPECT_ERROR(leaf(Tensor()), "view: the tensor is undefined");
  const Tensor wrong =
      record("wrong", tensor({1}), {x}, [](const Tensor& dy, Gradients d) { d[0].take(dy); });
  EXPECT_ERROR(backward(wrong), "gradient: [1] is not the gradient of [2]");
  EXPECT_ERROR(reshape(x, {3}), "view: [2] has 2 elements, [3] has 3");
  EXPECT_ERROR(rows(x, 1, 2), "view_rows: rows [1, 1 + 2) are outside [2]");
}

}  // namespace
}  // namespace loopless::testing
