#include "ops/padding_mask/padding_mask.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes reference(const Tensor& ids, int64_t extra) {
  Bytes mask;
  const std::vector<int32_t> values = ids.to_vector<int32_t>();
  for (int64_t b = 0; b < ids.size(0); ++b) {
    for (int64_t t = 0; t < ids.size(1); ++t) mask.push_back(values[b * ids.size(1) + t] != -1);
    mask.insert(mask.end(), extra, 1);
  }
  return mask;
}

TEST(PaddingMask, matches_reference) {
  const Tensor ids = random_ids({sized(32, 4), 67}, -1, 2, 1), mask = padding_mask(ids, 16);
  EXPECT_EQ(mask.shape(), Shape({ids.size(0), 67 + 16}));
  EXPECT_EQ(mask.to_vector<uint8_t>(), reference(ids, 16));
}

TEST(PaddingMask, edges) {
  EXPECT_EQ(padding_mask(Tensor::zeros({0, 5}, kI32), 2).shape(), Shape({0, 7}));
  EXPECT_EQ(padding_mask(Tensor::zeros({2, 0}, kI32), 2).to_vector<uint8_t>(), Bytes(4, 1));
  for (const int64_t length : {1, 31, 32, 33, 1023, 1025}) {
    const Tensor ids = random_ids({3, length}, -1, 0, 2);
    for (const int64_t extra : {0, 1, 33}) {
      EXPECT_EQ(padding_mask(ids, extra).to_vector<uint8_t>(), reference(ids, extra));
    }
  }
}

TEST(PaddingMask, errors) {
  EXPECT_ERROR(padding_mask(Tensor::zeros({4}, kI32), 1),
               "padding_mask: ids must be [B, T], got [4]");
  EXPECT_ERROR(padding_mask(Tensor::zeros({4, 2}), 1), "padding_mask: ids must be i32, got f32");
  EXPECT_ERROR(padding_mask(Tensor::zeros({4, 2}, kI32), -1),
               "padding_mask: extra must not be negative, got -1");
}

}  // namespace
}  // namespace loopless::testing
