#include "autograd/accumulate.h"
#include "tests/autograd/toy_ops.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

/// y = x; its backward notes whether it was told to add.
Tensor noting(const Tensor& x, std::vector<bool>& accumulate) {
  return record("noting", x.clone(), {x}, [&](const Tensor& dy, Gradients d) {
    const GradientTarget dx = d[0].target();
    accumulate.push_back(dx.accumulate);
    for (int64_t i = 0; i < dy.numel(); ++i) put(dx, i, dy.data()[i]);
  });
}

TEST(GradientLaw, the_first_writes_and_later_ones_add) {
  std::vector<bool> accumulate;
  const Tensor x = leaf(tensor({1, 2}));
  const Tensor y = add(add(noting(x, accumulate), noting(x, accumulate)), noting(x, accumulate));
  backward_from(y, tensor({1, 10}));
  EXPECT_EQ(accumulate, std::vector<bool>({false, true, true}));
  EXPECT_EQ(gradient(x), Floats({3, 30}));
}

TEST(GradientLaw, an_intermediate_starts_anew_in_each_backward) {
  std::vector<bool> accumulate;
  const Tensor x = leaf(tensor({1}));
  const Tensor y = noting(scale(x, 2), accumulate);
  backward(y, {.retain_graph = true});
  backward(y);
  EXPECT_EQ(accumulate, std::vector<bool>({false, false}));
  EXPECT_EQ(gradient(x), Floats({4}));
}

TEST(GradientLaw, parameters_always_add_into_their_buffer) {
  std::vector<bool> accumulate;
  const Tensor flat = tensor({100, 200, 300});
  const Tensor w = parameter(tensor({1, 2}), flat.view_rows(1, 2));
  backward_from(add(noting(w, accumulate), noting(w, accumulate)), tensor({1, 10}));
  EXPECT_EQ(accumulate, std::vector<bool>({true, true}));
  EXPECT_EQ(flat.to_vector(), Floats({100, 202, 320}));
  backward_from(pass(w), tensor({1, 1}));  // `take` adds as well
  EXPECT_EQ(flat.to_vector(), Floats({100, 203, 321}));
  EXPECT_TRUE(grad_of(w).shares_storage_with(flat));
}

TEST(GradientLaw, views_of_a_parameter_add_into_the_same_view_of_its_gradient) {
  const Tensor grad = Tensor::zeros({3, 2});
  const Tensor w = parameter(Tensor::from({3, 2}, Floats{1, 2, 3, 4, 5, 6}), grad);
  const Tensor middle = rows(w, 1, 1), flat = reshape(w, {6}), inner = rows(reshape(w, {6}), 4, 2);
  const Observed observed;
  backward_from(scale(middle, 2), Tensor::from({1, 2}, Floats{1, 10}));
  backward_from(scale(flat, 3), tensor({1, 1, 1, 1, 1, 1}));
  backward_from(scale(inner, 1), tensor({7, 8}));
  EXPECT_EQ(grad.to_vector(), Floats({3, 3, 5, 23, 10, 11}));
  EXPECT_EQ(observed.ops, std::vector<std::string>(3, "scale"));  // a view costs no node
}

TEST(GradientLaw, a_lone_dy_moves_without_a_copy) {
  const Tensor x = leaf(tensor({1, 2}));
  const Tensor dy = tensor({3, 4});
  backward_from(pass(reshape(pass(x), {2, 1})), dy.view({2, 1}));
  EXPECT_TRUE(grad_of(x).shares_storage_with(dy));
  EXPECT_EQ(grad_of(x).shape(), Shape({2}));
}

TEST(GradientLaw, a_moved_dy_survives_what_is_added_later) {
  const Tensor a = leaf(tensor({0, 0})), b = leaf(tensor({0, 0}));
  const Tensor later = scale(a, 5);  // runs after `add` and adds to the gradient of a
  const Tensor sum = add(a, b);      // a and b take the same dy
  const Tensor y = add(add(sum, sum), later);
  const Tensor dy = tensor({1, 10});
  backward_from(y, dy);
  EXPECT_EQ(gradient(a), Floats({7, 70}));
  EXPECT_EQ(gradient(b), Floats({2, 20}));
  EXPECT_EQ(dy.to_vector(), Floats({1, 10}));
}

TEST(GradientLaw, a_callers_dy_survives_the_next_backward) {
  const Tensor x = leaf(tensor({0}));
  const Tensor dy = tensor({1});
  backward_from(pass(x), dy);
  const Tensor first = grad_of(x);
  backward_from(pass(x), dy);
  backward_from(scale(x, 3), dy);
  EXPECT_EQ(gradient(x), Floats({5}));
  EXPECT_EQ(dy.to_vector(), Floats({1}));
  EXPECT_EQ(first.to_vector(), Floats({1}));
}

TEST(GradientLaw, rows_add_into_their_range) {
  const Tensor x = leaf(Tensor::from({4, 1}, Floats{1, 2, 3, 4}));
  const Tensor y = add(scale(rows(x, 0, 2), 2), scale(rows(x, 1, 2), 3));
  backward_from(y, Tensor::from({2, 1}, Floats{1, 10}));
  EXPECT_EQ(gradient(x), Floats({2, 23, 30, 0}));
  EXPECT_TRUE(rows(x, 1, 2).shares_storage_with(x));
}

TEST(GradientLaw, reshape_shares_and_hands_on) {
  const Tensor x = leaf(Tensor::from({2, 2}, Floats{1, 2, 3, 4}));
  const Tensor flat = reshape(x, {4});
  EXPECT_TRUE(flat.shares_storage_with(x));
  backward_from(add(scale(flat, 2), flat), tensor({1, 2, 3, 4}));
  EXPECT_EQ(grad_of(x).shape(), Shape({2, 2}));
  EXPECT_EQ(gradient(x), Floats({3, 6, 9, 12}));
}

TEST(GradientLaw, clear_grad_forgets) {
  const Tensor x = leaf(tensor({1}));
  backward(scale(x, 2));
  clear_grad(x);
  EXPECT_FALSE(grad_of(x).defined());
  backward(scale(x, 3));
  EXPECT_EQ(gradient(x), Floats({3}));
}

TEST(Accumulate, adds_every_element) {
  for (const int64_t count : {0, 1, 31, 33, 32'767, 32'768, 100'003}) {
    const Tensor from = random_tensor({count}, 1), into = random_tensor({count}, 2);
    Floats want = into.to_vector();
    for (int64_t i = 0; i < count; ++i) want[i] += from.data()[i];
    accumulate_into(into, from);
    EXPECT_EQ(into.to_vector(), want) << count << " elements";
  }
  EXPECT_ERROR(accumulate_into(tensor({1}), tensor({1, 2})),
               "accumulate: [2] cannot be added to [1]");
}

}  // namespace
}  // namespace loopless::testing
