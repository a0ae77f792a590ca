#include <omp.h>

#include "ops/rope/rope.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

/// x [B, T, N * head_size]; angles in f64, products in S.
auto reference_of(const Shape& shape, const RopeOptions& options) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    std::vector<S> y = in[0];
    for (int64_t token = 0; token < shape[0] * shape[1]; ++token) {
      for (int64_t head = 0; head < options.rotated_heads; ++head) {
        S* pair = y.data() + token * shape[2] + head * options.head_size;
        for (int64_t i = 0; i < options.rotated_dims / 2; ++i, pair += 2) {
          const double angle = (options.first_position + token % shape[1]) *
                               std::pow(options.base, -2.0 * i / options.rotated_dims);
          const S cosine = std::cos(angle), sine = std::sin(angle), a = pair[0], b = pair[1];
          pair[0] = a * cosine - b * sine;
          pair[1] = a * sine + b * cosine;
        }
      }
    }
    return y;
  };
}

auto op_of(const RopeOptions& options) {
  return [=](const std::vector<Tensor>& in) { return rope(in[0], options); };
}

struct Case {
  Shape shape;
  RopeOptions options;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{2, 9, 6 * 64}, {.head_size = 64, .rotated_dims = 32, .rotated_heads = 4}},
      {{1, 3, 64}, {.head_size = 64, .rotated_dims = 64, .rotated_heads = 1, .first_position = 7}},
      {{2, 5, 3 * 10}, {.head_size = 10, .rotated_dims = 6, .rotated_heads = 2, .base = 100}},
      {{3, 1, 4}, {.head_size = 2, .rotated_dims = 2, .rotated_heads = 2}}};
  return all;
}

TEST(Rope, matches_reference) {
  for (const auto& [shape, options] : cases()) {
    const std::vector<Tensor> inputs = {random_tensor(shape, 1)};
    expect_matches(op_of(options)(inputs), reference_of(shape, options), inputs);
  }
  // Later calls need more positions than the table of the first ones holds.
  const RopeOptions options{.head_size = 64, .rotated_dims = 32, .rotated_heads = 2};
  const Tensor x = random_tensor({2, sized(300, 70), 3 * 64}, 2);
  expect_matches(rope(x, options), reference_of(x.shape(), options), {x});
}

TEST(Rope, gradient) {
  for (const auto& [shape, options] : cases()) {
    expect_gradient(op_of(options), reference_of(shape, options), {random_tensor(shape, 1)},
                    shape.numel() < 100);
  }
}

TEST(Rope, edges) {
  const RopeOptions options{.head_size = 4, .rotated_dims = 4, .rotated_heads = 2};
  for (const Shape& shape : {Shape{0, 3, 8}, {2, 0, 8}}) {
    const Tensor x = leaf(Tensor::zeros(shape));
    const Tensor y = rope(x, options);
    EXPECT_EQ(y.shape(), shape);
    backward_from(y, Tensor::zeros(shape));
    EXPECT_EQ(grad_of(x).shape(), shape);
  }
  // No head to rotate, and position 0: the input itself, bit by bit.
  const Tensor x = random_tensor({2, 1, 8}, 1), many = random_tensor({2, 5, 8}, 1);
  EXPECT_EQ(rope(x, options).to_vector(), x.to_vector());
  EXPECT_EQ(rope(many, {.head_size = 4, .rotated_dims = 4, .rotated_heads = 0}).to_vector(),
            many.to_vector());
}

TEST(Rope, in_place_only_where_nobody_else_looks) {
  const RopeOptions options{.head_size = 8, .rotated_dims = 8, .rotated_heads = 1};
  const Tensor original = random_tensor({2, 3, 8}, 1);
  const std::vector<float> before = original.to_vector();
  const Tensor copied = rope(original, options);
  EXPECT_EQ(original.to_vector(), before);
  EXPECT_FALSE(copied.shares_storage_with(original));

  Tensor given = original.clone();
  const float* storage = given.data();
  const Tensor moved = rope(std::move(given), options);
  EXPECT_EQ(moved.data(), storage);
  EXPECT_EQ(moved.to_vector(), copied.to_vector());

  // dy still belongs to the caller.
  const Tensor x = leaf(original), dy = random_tensor({2, 3, 8}, 2);
  const std::vector<float> dy_before = dy.to_vector();
  backward_from(rope(x, options), dy);
  EXPECT_EQ(dy.to_vector(), dy_before);
  EXPECT_NE(grad_of(x).to_vector(), dy_before);
}

// The product of a query and a key depends on the distance of their positions alone.
TEST(Rope, scores_depend_on_distance) {
  const Tensor query = random_tensor({1, 1, 64}, 1), key = random_tensor({1, 1, 64}, 2);
  const auto score = [&](int64_t query_position, int64_t key_position) {
    RopeOptions options{.head_size = 64, .rotated_dims = 64, .rotated_heads = 1};
    options.first_position = query_position;
    const std::vector<float> q = rope(query, options).to_vector();
    options.first_position = key_position;
    const std::vector<float> k = rope(key, options).to_vector();
    double sum = 0;
    for (size_t i = 0; i < q.size(); ++i) sum += static_cast<double>(q[i]) * k[i];
    return sum;
  };
  // 64 products of values of size 1, each rounded a few times.
  EXPECT_NEAR(score(5, 2), score(103, 100), 64 * 4 * 0x1p-24);
  EXPECT_GT(std::abs(score(5, 2) - score(5, 3)), 1e-3);
}

TEST(Rope, accumulates) {
  for (const auto& [shape, options] : cases()) {
    expect_accumulates(op_of(options), {random_tensor(shape, 1)});
  }
}

TEST(Rope, same_bits_for_any_number_of_threads) {
  const int before = omp_get_max_threads();
  const RopeOptions options{.head_size = 64, .rotated_dims = 32, .rotated_heads = 4};
  const Tensor x = random_tensor({4, sized(272, 90), 6 * 64}, 1);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    results.push_back(rope(x, options).to_vector());
  }
  omp_set_num_threads(before);
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
}

TEST(Rope, errors) {
  const Tensor x = Tensor::zeros({2, 3, 24});
  EXPECT_ERROR(rope(x, {.head_size = 0, .rotated_dims = 2, .rotated_heads = 1}),
               "rope: head_size must be positive, got 0");
  EXPECT_ERROR(rope(x, {.head_size = 7, .rotated_dims = 2, .rotated_heads = 1}),
               "rope: x must be [B, T, N * 7], got [2, 3, 24]");
  EXPECT_ERROR(rope(x, {.head_size = 8, .rotated_dims = 3, .rotated_heads = 1}),
               "rope: rotated_dims must be even and within 2 to 8, got 3");
  EXPECT_ERROR(rope(x, {.head_size = 8, .rotated_dims = 10, .rotated_heads = 1}),
               "rope: rotated_dims must be even and within 2 to 8, got 10");
  EXPECT_ERROR(rope(x, {.head_size = 8, .rotated_dims = 8, .rotated_heads = 4}),
               "rope: rotated_heads must be within 0 to 3, got 4");
  RopeOptions options{.head_size = 8, .rotated_dims = 8, .rotated_heads = 3};
  options.first_position = -1;
  EXPECT_ERROR(rope(x, options), "rope: first_position must not be negative, got -1");
  options.first_position = 0;
  options.base = 0;
  EXPECT_ERROR(rope(x, options), "rope: base must be positive, got 0");
  EXPECT_ERROR(rope(Tensor::zeros({2, 24}), options), "rope: x must be [B, T, N * 8], got [2, 24]");
}

}  // namespace
}  // namespace loopless::testing
