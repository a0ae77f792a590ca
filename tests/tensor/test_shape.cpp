#include "tensor/shape.h"
#include "tests/support/op_test.h"

namespace loopless {
namespace {

TEST(Shape, sizes) {
  const Shape shape({4, 128, 768});
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[0], 4);
  EXPECT_EQ(shape[-1], 768);
  EXPECT_EQ(shape[-3], 4);
  EXPECT_EQ(shape.numel(), 4 * 128 * 768);
  EXPECT_EQ(shape.str(), "[4, 128, 768]");
  EXPECT_EQ(Shape().numel(), 1);
  EXPECT_EQ(Shape().str(), "[]");
  EXPECT_EQ(Shape({3, 0, 5}).numel(), 0);
}

TEST(Shape, changes) {
  const Shape shape({4, 128, 768});
  EXPECT_EQ(shape.with(1, 3), Shape({4, 3, 768}));
  EXPECT_EQ(shape.with(-1, 2), Shape({4, 128, 2}));
  EXPECT_EQ(shape.tail(), Shape({128, 768}));
  EXPECT_EQ(Shape({7}).tail(), Shape());
}

TEST(Shape, equality_sees_rank) {
  EXPECT_FALSE(Shape({2}) == Shape({2, 0}));
  EXPECT_FALSE(Shape({2, 3}) == Shape({3, 2}));
  EXPECT_FALSE(Shape() == Shape({0}));
  EXPECT_TRUE(Shape({2, 3, 4}).tail() == Shape({3, 4}));
}

TEST(Shape, overflow) {
  constexpr int64_t kHalf = int64_t{1} << 30;
  EXPECT_EQ(Shape({kHalf, kHalf}).numel(), Shape::kMaxNumel);
  EXPECT_ERROR(Shape({kHalf, kHalf, 2}),
               "shape: [1073741824, 1073741824, 2] has more than 2^60 elements");
  EXPECT_ERROR(Shape({INT64_MAX}), "shape: [9223372036854775807] has more than 2^60 elements");
  // The product wraps around to 0.
  EXPECT_ERROR(Shape({kHalf * 4, kHalf * 4}),
               "shape: [4294967296, 4294967296] has more than 2^60 elements");
  EXPECT_ERROR(Shape({kHalf, 4}).with(1, kHalf * 2),
               "shape: [1073741824, 2147483648] has more than 2^60 elements");
  EXPECT_EQ(Shape({0, INT64_MAX}).numel(), 0);
}

TEST(Shape, is_valid_agrees_with_the_constructor) {
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{},
                                         {0},
                                         {-1},
                                         {2, 3},
                                         {1, 1, 1, 1, 1},
                                         {1, 1, 1, 1, 1, 1},
                                         {INT64_MAX},
                                         {0, INT64_MAX},
                                         {int64_t{1} << 60},
                                         {int64_t{1} << 32, int64_t{1} << 32},
                                         {3, INT64_MIN}}) {
    bool is_accepted = true;
    try {
      Shape(sizes.data(), static_cast<int>(sizes.size()));
    } catch (const Error&) {
      is_accepted = false;
    }
    EXPECT_EQ(Shape::is_valid(sizes), is_accepted) << ::testing::PrintToString(sizes);
  }
}

TEST(Shape, errors) {
  EXPECT_ERROR(Shape({1, 2, 3, 4, 5, 6}), "shape: at most 5 dimensions, got 6");
  EXPECT_ERROR(Shape({2, -1}), "shape: sizes must not be negative, got [2, -1]");
  EXPECT_ERROR(Shape({2, 3})[2], "shape: dimension 2 of [2, 3] does not exist");
  EXPECT_ERROR(Shape({2, 3})[-3], "shape: dimension -3 of [2, 3] does not exist");
  EXPECT_ERROR(Shape({2, 3}).with(5, 1), "shape: dimension 5 of [2, 3] does not exist");
  EXPECT_ERROR(Shape().tail(), "shape: a scalar has no leading dimension");
}

}  // namespace
}  // namespace loopless
