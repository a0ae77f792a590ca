#include "ops/add/add.h"
#include "ops/concat_rows/concat_rows.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

constexpr auto reference = []<class S>(const std::vector<std::vector<S>>& in) {
  std::vector<S> y;
  for (const std::vector<S>& x : in) y.insert(y.end(), x.begin(), x.end());
  return y;
};

std::vector<Tensor> random_inputs(const std::vector<int64_t>& row_counts) {
  std::vector<Tensor> inputs;
  for (const int64_t count : row_counts) {
    inputs.push_back(random_tensor({count, 2, 3}, 1 + inputs.size()));
  }
  return inputs;
}

TEST(ConcatRows, matches_reference) {
  const std::vector<Tensor> inputs = random_inputs({sized(3000, 30), 1, 45});
  const Tensor y = concat_rows(inputs);
  EXPECT_EQ(y.shape(), Shape({inputs[0].size(0) + 46, 2, 3}));
  EXPECT_EQ(y.to_vector(), reference(values_as<float>(inputs)));
  const Tensor ids = Tensor::from<int32_t>({3}, {7, -1, 9});
  EXPECT_EQ(concat_rows({ids, ids}).to_vector<int32_t>(),
            std::vector<int32_t>({7, -1, 9, 7, -1, 9}));
}

TEST(ConcatRows, gradient) {
  expect_gradient(concat_rows, reference, random_inputs({2, 1, 3}), true);
  // The gradients are views of one dy. A later contribution must not be added into the
  // neighbour's.
  const Tensor a = leaf(Tensor::zeros({2})), b = leaf(Tensor::zeros({2}));
  const Tensor y = concat_rows({add(a, a), b, a});
  backward_from(y, Tensor::from<float>({6}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(grad_of(a).to_vector(), std::vector<float>({1 + 1 + 5, 2 + 2 + 6}));
  EXPECT_EQ(grad_of(b).to_vector(), std::vector<float>({3, 4}));
}

TEST(ConcatRows, edges) {
  EXPECT_EQ(concat_rows(random_inputs({0, 0})).shape(), Shape({0, 2, 3}));
  for (const int64_t count : {0, 1, 31, 32, 33, 1023, 1025}) {
    const std::vector<Tensor> inputs = random_inputs({count, 2, count});
    EXPECT_EQ(concat_rows(inputs).to_vector(), reference(values_as<float>(inputs)));
  }
  const Tensor alone = random_tensor({3, 4}, 1, 1e30f);
  EXPECT_EQ(concat_rows({alone}).to_vector(), alone.to_vector());
}

TEST(ConcatRows, accumulates) { expect_accumulates(concat_rows, random_inputs({2, 1, 3})); }

TEST(ConcatRows, errors) {
  const Tensor x = Tensor::zeros({2, 3});
  EXPECT_ERROR(concat_rows({}), "concat_rows: there must be at least one input");
  EXPECT_ERROR(concat_rows({x, Tensor::zeros({2, 4})}),
               "concat_rows: input 1 must be [2, 3] but for the leading size, got [2, 4]");
  EXPECT_ERROR(concat_rows({x, Tensor::zeros({2, 3}, kI32)}),
               "concat_rows: input 1 must be f32 like input 0, got i32");
  EXPECT_ERROR(concat_rows({Tensor::zeros({})}), "concat_rows: input 0 must be [b, ...], got []");
  EXPECT_ERROR(concat_rows({x, Tensor()}), "concat_rows: input 1 is undefined");
}

}  // namespace
}  // namespace loopless::testing
