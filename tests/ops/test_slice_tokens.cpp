#include "ops/add/add.h"
#include "ops/slice_tokens/slice_tokens.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

struct Slice {
  int64_t begin, count;
};

/// x has `shape`: [B, T, ...].
auto reference_for(const Shape& shape, Slice slice) {
  const int64_t batch = shape[0], row = shape.tail().numel(), token = shape.tail().tail().numel();
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    std::vector<S> y;
    for (int64_t b = 0; b < batch; ++b) {
      const auto first = in[0].begin() + b * row + slice.begin * token;
      y.insert(y.end(), first, first + slice.count * token);
    }
    return y;
  };
}

auto op_for(Slice slice) {
  return
      [=](const std::vector<Tensor>& in) { return slice_tokens(in[0], slice.begin, slice.count); };
}

TEST(SliceTokens, matches_reference) {
  const int64_t batch = sized(16, 3);
  const Tensor x = random_tensor({batch, 65, 33}, 1);
  for (const Slice slice : {Slice{0, 65}, Slice{0, 3}, Slice{49, 16}, Slice{7, 31}}) {
    const Tensor y = slice_tokens(x, slice.begin, slice.count);
    EXPECT_EQ(y.shape(), Shape({batch, slice.count, 33}));
    EXPECT_EQ(y.to_vector(),
              reference_for(x.shape(), slice)(values_as<float>(std::vector<Tensor>{x})));
  }
  const Tensor ids = random_ids({batch, 9}, -1, 255, 2);
  EXPECT_EQ(slice_tokens(ids, 2, 5).to_vector<int32_t>(),
            reference_for(ids.shape(),
                          {2, 5})(std::vector<std::vector<int32_t>>{ids.to_vector<int32_t>()}));
}

TEST(SliceTokens, gradient) {
  for (const Slice slice : {Slice{0, 2}, Slice{1, 3}, Slice{4, 1}, Slice{0, 5}}) {
    const Tensor x = random_tensor({2, 5, 3}, 3);
    expect_gradient(op_for(slice), reference_for(x.shape(), slice), {x}, true);
  }
  const Tensor x = random_tensor({5, 33, 31}, 4);
  expect_gradient(op_for({7, 20}), reference_for(x.shape(), {7, 20}), {x});
  // Overlapping slices of one tensor: the second one to arrive adds to the first.
  const Tensor shared = leaf(Tensor::zeros({1, 3, 1}));
  backward_from(add(slice_tokens(shared, 0, 2), slice_tokens(shared, 1, 2)),
                Tensor::from<float>({1, 2, 1}, {1.0f, 10.0f}));
  EXPECT_EQ(grad_of(shared).to_vector(), std::vector<float>({1.0f, 11.0f, 10.0f}));
}

TEST(SliceTokens, edges) {
  EXPECT_EQ(slice_tokens(Tensor::empty({0, 3, 4}), 1, 2).shape(), Shape({0, 2, 4}));
  EXPECT_EQ(slice_tokens(Tensor::empty({2, 3, 4}), 3, 0).shape(), Shape({2, 0, 4}));
  for (const int64_t length : {1, 31, 32, 33, 1023, 1025}) {
    const Tensor x = random_tensor({2, length, 3}, 5, 1e30f);
    const Slice last{length - 1, 1};
    EXPECT_EQ(op_for(last)({x}).to_vector(),
              reference_for(x.shape(), last)(values_as<float>(std::vector<Tensor>{x})));
  }
  expect_same_for_any_threads(op_for({13, 70}), {random_tensor({5, 120, 65}, 6)});
}

TEST(SliceTokens, accumulates) {
  expect_accumulates(op_for({1, 3}), {random_tensor({3, 5, 33}, 7)});
}

TEST(SliceTokens, errors) {
  const Tensor x = Tensor::zeros({2, 3, 4});
  EXPECT_ERROR(slice_tokens(x, 1, 3), "slice_tokens: tokens [1, 1 + 3) are outside x [2, 3, 4]");
  EXPECT_ERROR(slice_tokens(x, -1, 2), "slice_tokens: tokens [-1, -1 + 2) are outside x [2, 3, 4]");
  EXPECT_ERROR(slice_tokens(x, 1, -1), "slice_tokens: tokens [1, 1 + -1) are outside x [2, 3, 4]");
  EXPECT_ERROR(slice_tokens(Tensor::zeros({2}), 0, 1),
               "slice_tokens: x must be [B, T, ...], got [2]");
  EXPECT_ERROR(slice_tokens(Tensor(), 0, 1), "slice_tokens: x is undefined");
}

}  // namespace
}  // namespace loopless::testing
