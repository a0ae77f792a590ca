#include "tensor/isa.h"
#include "tensor/tensor.h"
#include "tests/support/op_test.h"

namespace loopless {
namespace {

using Floats = std::vector<float>;

Tensor counting(const Shape& shape) {
  Floats values(shape.numel());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor::from(shape, values);
}

TEST(Tensor, describes_itself) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(x.shape(), Shape({2, 3, 4}));
  EXPECT_EQ(x.rank(), 3);
  EXPECT_EQ(x.size(-1), 4);
  EXPECT_EQ(x.numel(), 24);
  EXPECT_EQ(x.bytes(), 96);
  EXPECT_EQ(x.row_count(), 6);
  EXPECT_EQ(x.columns(), 4);
  EXPECT_EQ(x.dtype(), kF32);
  EXPECT_EQ(x.device(), kCPU);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(x.raw()) % Storage::kAlignment, 0u);
  const Tensor scalar = Tensor::full({}, 2.5f);
  EXPECT_EQ(scalar.row_count(), 1);
  EXPECT_EQ(scalar.columns(), 1);
  EXPECT_EQ(scalar.item(), 2.5f);
  EXPECT_EQ(Tensor::empty({3}, kBF16).bytes(), 6);
  EXPECT_FALSE(Tensor().defined());
  EXPECT_EQ(Tensor().numel(), 0);
}

TEST(Tensor, values) {
  EXPECT_EQ(Tensor::zeros({2, 2}).to_vector(), Floats(4, 0.0f));
  EXPECT_EQ(Tensor::full({3}, -1.5f).to_vector(), Floats(3, -1.5f));
  EXPECT_EQ(Tensor::from({3}, std::vector<int32_t>{1, -2, 3}).to_vector<int32_t>(),
            (std::vector<int32_t>{1, -2, 3}));
  EXPECT_EQ(Tensor::from({2}, std::vector<uint8_t>{0, 255}).dtype(), kU8);
  EXPECT_TRUE(Tensor::zeros({3, 0}).to_vector().empty());
  EXPECT_EQ(Tensor::empty_like(counting({2, 3})).shape(), Shape({2, 3}));
}

TEST(Tensor, views_share_elements) {
  const Tensor x = counting({4, 3});
  const Tensor flat = x.view({12}), middle = x.view_rows(1, 2), inner = middle.view_rows(1, 1);
  EXPECT_EQ(middle.shape(), Shape({2, 3}));
  EXPECT_EQ(middle.to_vector(), Floats({3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(inner.to_vector(), Floats({6, 7, 8}));
  inner.view({3}).data()[1] = 70;
  EXPECT_EQ(x.data()[7], 70);
  EXPECT_EQ(flat.data()[7], 70);
  EXPECT_TRUE(inner.shares_storage_with(x));
  EXPECT_EQ(x.view_rows(4, 0).shape(), Shape({0, 3}));
  EXPECT_EQ(counting({0, 3}).view_rows(0, 0).numel(), 0);
  EXPECT_EQ(x.view({3, 2, 2}).view_rows(2, 1).to_vector(), Floats({8, 9, 10, 11}));
}

TEST(Tensor, views_keep_the_storage_alive) {
  Tensor tail;
  {
    const Tensor x = counting({4});
    EXPECT_FALSE(x.is_shared());
    tail = x.view_rows(3, 1);
    EXPECT_TRUE(x.is_shared());
  }
  EXPECT_FALSE(tail.is_shared());
  EXPECT_EQ(tail.item(), 3);
}

TEST(Tensor, copies) {
  const Tensor x = counting({2, 2}), copy = x.clone();
  EXPECT_FALSE(copy.shares_storage_with(x));
  copy.zero();
  EXPECT_EQ(x.to_vector(), Floats({0, 1, 2, 3}));
  EXPECT_EQ(copy.to_vector(), Floats(4, 0.0f));
  copy.view_rows(1, 1).copy_from(x.view_rows(0, 1));
  EXPECT_EQ(copy.to_vector(), Floats({0, 0, 0, 1}));
}

TEST(Tensor, errors) {
  const Tensor x = counting({2, 3}), none;
  EXPECT_ERROR(Tensor::from({2}, Floats{1}), "tensor: 1 values do not fill [2]");
  EXPECT_ERROR(x.data<int32_t>(), "tensor: elements are f32, not i32");
  EXPECT_ERROR(Tensor::empty({1}, kU8).to_vector(), "tensor: elements are u8, not f32");
  EXPECT_ERROR(none.data(), "tensor: an undefined tensor has no data");
  EXPECT_ERROR(none.device(), "tensor: an undefined tensor has no device");
  EXPECT_ERROR(x.view({7}), "view: [2, 3] has 6 elements, [7] has 7");
  EXPECT_ERROR(none.view({1}), "view: the tensor is undefined");
  EXPECT_ERROR(x.view_rows(1, 2), "view_rows: rows [1, 1 + 2) are outside [2, 3]");
  EXPECT_ERROR(x.view_rows(-1, 1), "view_rows: rows [-1, -1 + 1) are outside [2, 3]");
  EXPECT_ERROR(x.view_rows(1, INT64_MAX),
               "view_rows: rows [1, 1 + 9223372036854775807) are outside [2, 3]");
  EXPECT_ERROR(Tensor::full({}, 1).view_rows(0, 1), "view_rows: a scalar has no rows");
  EXPECT_ERROR(none.view_rows(0, 1), "view_rows: the tensor is undefined");
  EXPECT_ERROR(x.item(), "item: needs exactly one element, got [2, 3]");
  EXPECT_ERROR(x.copy_from(counting({3, 2})),
               "copy_from: the target is f32 [2, 3], the source f32 [3, 2]");
  EXPECT_ERROR(Tensor::full({}, 1).copy_from(none), "copy_from: a tensor is undefined");
  EXPECT_ERROR(none.copy_from(Tensor::full({}, 1)), "copy_from: a tensor is undefined");
  EXPECT_ERROR(Tensor::empty({1}, kF32, {Device::Kind::kCUDA, 1}),
               "memory: device cuda:1 is not available: this build has no CUDA");
}

TEST(Tensor, checks_name_op_and_argument) {
  const Tensor x = counting({2, 3});
  check_tensor("op", "x", x, {2, 3});
  EXPECT_ERROR(check_tensor("op", "x", x, {3}), "op: x must be [3], got [2, 3]");
  EXPECT_ERROR(check_tensor("op", "x", x, {2, 3}, kI32), "op: x must be i32, got f32");
  EXPECT_ERROR(check_dtype("op", "x", Tensor()), "op: x is undefined");
}

TEST(Isa, refuses_an_unknown_name) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the choice is made once a process
  const auto choose = [] {
    setenv("LOOPLESS_ISA", "sse9", 1);
    try {
      use_avx512();
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
      std::exit(3);
    }
  };
  EXPECT_EXIT(choose(), ::testing::ExitedWithCode(3),
              "LOOPLESS_ISA: must be avx2 or avx512, got \"sse9\"");
}

}  // namespace
}  // namespace loopless
