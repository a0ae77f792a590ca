#include "ops/concat_tokens/concat_tokens.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

auto reference_for(int64_t batch) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    std::vector<S> y;
    for (int64_t i = 0; i < batch; ++i) {
      for (const std::vector<S>& x : in) {
        const int64_t count = x.size() / batch;
        y.insert(y.end(), x.begin() + i * count, x.begin() + (i + 1) * count);
      }
    }
    return y;
  };
}

Tensor op(const std::vector<Tensor>& in) { return concat_tokens(in[0], in[1]); }

TEST(ConcatTokens, matches_reference) {
  const int64_t batch = sized(16, 3);
  const Tensor a = random_tensor({batch, 65, 33}, 1), b = random_tensor({batch, 16, 33}, 2);
  const Tensor y = concat_tokens(a, b);
  EXPECT_EQ(y.shape(), Shape({batch, 81, 33}));
  EXPECT_EQ(y.to_vector(), reference_for(batch)(values_as<float>({a, b})));
  const Tensor a_ids = random_ids({batch, 7}, -1, 255, 3), b_ids = random_ids({batch, 2}, 0, 9, 4);
  EXPECT_EQ(concat_tokens(a_ids, b_ids).to_vector<int32_t>(),
            reference_for(batch)(std::vector<std::vector<int32_t>>{a_ids.to_vector<int32_t>(),
                                                                   b_ids.to_vector<int32_t>()}));
}

TEST(ConcatTokens, gradient) {
  expect_gradient(op, reference_for(2), {random_tensor({2, 3, 4}, 5), random_tensor({2, 1, 4}, 6)},
                  true);
  expect_gradient(op, reference_for(5),
                  {random_tensor({5, 33, 31}, 7), random_tensor({5, 2, 31}, 8)});
}

TEST(ConcatTokens, edges) {
  EXPECT_EQ(op({Tensor::empty({0, 3, 4}), Tensor::empty({0, 5, 4})}).shape(), Shape({0, 8, 4}));
  for (const int64_t count : {0, 1, 31, 32, 33, 1023, 1025}) {
    const std::vector<Tensor> inputs{random_tensor({2, count, 3}, 9, 1e30f),
                                     random_tensor({2, 1, 3}, 10, 1e-30f)};
    EXPECT_EQ(op(inputs).to_vector(), reference_for(2)(values_as<float>(inputs)));
    const std::vector<Tensor> swapped{inputs[1], inputs[0]};
    EXPECT_EQ(op(swapped).to_vector(), reference_for(2)(values_as<float>(swapped)));
  }
  expect_same_for_any_threads(op, {random_tensor({5, 90, 65}, 11), random_tensor({5, 30, 65}, 12)});
}

TEST(ConcatTokens, accumulates) {
  expect_accumulates(op, {random_tensor({3, 5, 33}, 13), random_tensor({3, 2, 33}, 14)});
}

TEST(ConcatTokens, errors) {
  const Tensor a = Tensor::zeros({2, 3, 4});
  EXPECT_ERROR(
      concat_tokens(a, Tensor::zeros({2, 3, 5})),
      "concat_tokens: a and b may differ in dimension 1 alone, got [2, 3, 4] and [2, 3, 5]");
  EXPECT_ERROR(concat_tokens(a, Tensor::zeros({2, 3})),
               "concat_tokens: a and b may differ in dimension 1 alone, got [2, 3, 4] and [2, 3]");
  EXPECT_ERROR(concat_tokens(a, Tensor::zeros({2, 3, 4}, kI32)),
               "concat_tokens: b must be f32, got i32");
  EXPECT_ERROR(concat_tokens(Tensor::zeros({2}), a),
               "concat_tokens: a must be [B, T, ...], got [2]");
  EXPECT_ERROR(concat_tokens(a, Tensor()), "concat_tokens: b is undefined");
}

}  // namespace
}  // namespace loopless::testing
