#include "ops/embedding/embedding.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

/// in = {weight [V, columns]}.
auto reference_for(const Tensor& ids, int64_t columns) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    std::vector<S> y;
    for (const int32_t id : ids.to_vector<int32_t>()) {
      for (int64_t c = 0; c < columns; ++c) y.push_back(id < 0 ? 0 : in[0][id * columns + c]);
    }
    return y;
  };
}

auto op_for(const Tensor& ids) {
  return [=](const std::vector<Tensor>& in) { return embedding(ids, in[0]); };
}

TEST(Embedding, matches_reference) {
  const Tensor ids = random_ids({sized(16, 2), 33}, -1, 40, 1);
  const Tensor weight = random_tensor({41, 256}, 2);
  const Tensor y = embedding(ids, weight);
  EXPECT_EQ(y.shape(), Shape({ids.size(0), 33, 256}));
  EXPECT_EQ(y.to_vector(), reference_for(ids, 256)(values_as<float>(std::vector<Tensor>{weight})));
}

TEST(Embedding, gradient) {
  const Tensor few = random_ids({2, 5}, -1, 3, 3);
  expect_gradient(op_for(few), reference_for(few, 3), {random_tensor({4, 3}, 4)}, true);
  const Tensor ids = random_ids({sized(16, 4), 33}, -1, 19, 5);
  for (const int64_t columns : {1, 31, 65, 130}) {
    expect_gradient(op_for(ids), reference_for(ids, columns), {random_tensor({20, columns}, 6)});
  }
}

TEST(Embedding, edges) {
  const Tensor weight = random_tensor({7, 33}, 7);
  for (const Shape& shape : {Shape({0, 5}), Shape({5, 0})}) {
    const Tensor w = leaf(weight.clone()), y = embedding(Tensor::zeros(shape, kI32), w);
    EXPECT_EQ(y.numel(), 0);
    backward_from(y, Tensor::empty(y.shape()));
    EXPECT_EQ(grad_of(w).to_vector(), std::vector<float>(7 * 33, 0.0f));
  }
  // Padding alone: zeros, and no gradient for any row, last and first id included.
  const Tensor w = leaf(weight.clone());
  const Tensor y = embedding(Tensor::from<int32_t>({1, 3}, {-1, 0, 6}), w);
  backward_from(y, Tensor::full(y.shape(), 1.0f));
  EXPECT_EQ(y.view({3, 33}).view_rows(0, 1).to_vector(), std::vector<float>(33, 0.0f));
  EXPECT_EQ(grad_of(w).view_rows(1, 5).to_vector(), std::vector<float>(5 * 33, 0.0f));
  EXPECT_EQ(grad_of(w).view_rows(6, 1).to_vector(), std::vector<float>(33, 1.0f));
  for (const float scale : {1e30f, 1e-30f, INFINITY}) {
    const Tensor extreme = Tensor::full({2, 3}, scale);
    EXPECT_EQ(embedding(Tensor::zeros({1, 2}, kI32), extreme).to_vector(),
              std::vector<float>(6, scale));
  }
  expect_same_for_any_threads(op_for(random_ids({64, 9}, -1, 6, 8)), {random_tensor({7, 200}, 9)});
}

TEST(Embedding, accumulates) {
  expect_accumulates(op_for(random_ids({4, 33}, -1, 6, 10)), {random_tensor({7, 33}, 11)});
}

TEST(Embedding, errors) {
  const Tensor weight = Tensor::zeros({256, 4});
  Tensor ids = Tensor::zeros({3, 7}, kI32);
  ids.data<int32_t>()[2 * 7 + 5] = 300;
  EXPECT_ERROR(embedding(ids, weight),
               "embedding: id 300 at [2, 5] is outside the vocabulary of 256");
  ids.data<int32_t>()[1] = -2;
  EXPECT_ERROR(embedding(ids, weight),
               "embedding: id -2 at [0, 1] is outside the vocabulary of 256");
  EXPECT_ERROR(embedding(Tensor::zeros({3}, kI32), weight),
               "embedding: ids must be [B, T], got [3]");
  EXPECT_ERROR(embedding(Tensor::zeros({3, 7}), weight), "embedding: ids must be i32, got f32");
  EXPECT_ERROR(embedding(Tensor::zeros({3, 7}, kI32), Tensor::zeros({4})),
               "embedding: weight must be [V, C], got [4]");
}

}  // namespace
}  // namespace loopless::testing
