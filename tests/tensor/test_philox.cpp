#include <set>

#include "tensor/philox.h"
#include "tests/support/op_test.h"

namespace loopless {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers that the authors publish with their implementation (Random123, kat_vectors).
TEST(Philox, matches_reference) {
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, index_stream_and_seed_are_the_counter_and_the_key) {
  const Philox random(0x299f31d0a4093822, 0x0370734413198a2e);
  const uint64_t block = 0x05a308d3243f6a88;  // an index has 64 bits, hence a block number 62
  const Words words =
      philox({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(random.bits(4 * block + i), words[i]);
}

TEST(Philox, streams_and_seeds_differ) {
  std::set<uint32_t> seen;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (uint64_t stream = 0; stream < 10; ++stream) {
      for (uint64_t index = 0; index < 10; ++index) seen.insert(Philox(seed, stream).bits(index));
    }
  }
  EXPECT_EQ(seen.size(), 1000u);  // a repetition among 1000 of 2^32 has a chance of 1 in 8600
}

TEST(Philox, uniform_fills_the_unit_interval) {
  const Philox random(1, 2);
  constexpr int kCount = 100'000, kBins = 10;
  std::array<int, kBins> bins{};
  double sum = 0;
  for (int i = 0; i < kCount; ++i) {
    const float u = random.uniform(i);
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    ASSERT_EQ(u * 0x1p24f, std::floor(u * 0x1p24f));
    ++bins[static_cast<int>(u * kBins)];
    sum += u;
  }
  // Five standard deviations: sqrt(n p (1 - p)) of a bin, sqrt(1 / 12 n) of the mean.
  for (const int bin : bins) EXPECT_NEAR(bin, kCount / kBins, 5 * std::sqrt(kCount * 0.09));
  EXPECT_NEAR(sum / kCount, 0.5, 5 * std::sqrt(1.0 / 12 / kCount));
}

TEST(Philox, below_is_uniform_and_in_range) {
  const Philox random(3, 4);
  constexpr int kCount = 70'000;
  std::array<int, 7> bins{};
  for (int i = 0; i < kCount; ++i) ++bins.at(random.below(i, 7));
  for (const int bin : bins) EXPECT_NEAR(bin, kCount / 7, 5 * std::sqrt(kCount * 6.0 / 49));
  EXPECT_EQ(random.below(9, 1), 0);
  // With a 32-bit draw, 3 * 2^30 values would not be equally likely: a third would come twice.
  constexpr int64_t kLarge = int64_t{3} << 30;
  int multiples_of_3 = 0;
  for (int i = 0; i < kCount; ++i) multiples_of_3 += random.below(i, kLarge) % 3 == 0;
  EXPECT_NEAR(multiples_of_3, kCount / 3, 5 * std::sqrt(kCount * 2.0 / 9));
  int64_t largest = 0;
  for (int i = 0; i < 100; ++i) largest = std::max(largest, random.below(i, INT64_MAX));
  EXPECT_GT(largest, INT64_MAX / 2);
}

TEST(Philox, normal_has_the_moments) {
  const Philox random(5, 6);
  constexpr int kCount = 100'000;
  double sum = 0, squares = 0, products = 0, fourth = 0, largest = 0;
  for (int i = 0; i < kCount; i += 2) {
    const double a = random.normal(i), b = random.normal(i + 1);
    sum += a + b;
    squares += a * a + b * b;
    fourth += a * a * a * a + b * b * b * b;
    products += a * b;
    largest = std::max({largest, std::abs(a), std::abs(b)});
  }
  // Five standard deviations; the variances of x, x^2, x^4, x y are 1, 2, 96 and 1.
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourth / kCount, 3, 5 * std::sqrt(96.0 / kCount));
  EXPECT_NEAR(products / (kCount / 2), 0, 5 / std::sqrt(kCount / 2));
  EXPECT_LT(largest, 6.7);
  EXPECT_GT(largest, 3.5);
}

TEST(Philox, fills) {
  const Philox random(7, 8);
  const Tensor uniform = Tensor::empty({3, 5}), normal = Tensor::empty({1001});
  fill_uniform(uniform, random, -0.25f, 0.25f);
  fill_normal(normal, random, 2.0f, 0.5f);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(uniform.data()[i], -0.25f + 0.5f * random.uniform(i));
  for (int i = 0; i < 1001; ++i) EXPECT_EQ(normal.data()[i], 2.0f + 0.5f * random.normal(i));
  fill_uniform(Tensor::empty({0}), random, 0, 1);
}

TEST(Philox, sample_without_replacement) {
  const Philox random(9, 10);
  const std::vector<int32_t> all = sample_without_replacement(random, 100, 100);
  EXPECT_EQ(std::set<int32_t>(all.begin(), all.end()).size(), 100u);
  EXPECT_EQ(*std::max_element(all.begin(), all.end()), 99);
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(sample_without_replacement(random, 100, 30),
            std::vector<int32_t>(all.begin(), all.begin() + 30));
  EXPECT_TRUE(sample_without_replacement(random, 0, 0).empty());
  // Each of 10 numbers is among 3 drawn with probability 0.3, and each place is equally likely.
  constexpr int kCount = 20'000;
  std::array<std::array<int, 3>, 10> drawn{};
  for (int n = 0; n < kCount; ++n) {
    const std::vector<int32_t> sample = sample_without_replacement(Philox(11, n), 10, 3);
    for (int place = 0; place < 3; ++place) ++drawn.at(sample[place])[place];
  }
  for (const auto& places : drawn) {
    for (const int count : places) EXPECT_NEAR(count, kCount / 10, 5 * std::sqrt(kCount * 0.09));
  }
}

TEST(Philox, errors) {
  const Philox random(0, 0);
  EXPECT_ERROR(random.below(0, 0), "random: below needs n > 0, got 0");
  EXPECT_ERROR(random.below(0, -5), "random: below needs n > 0, got -5");
  EXPECT_ERROR(sample_without_replacement(random, 3, 4),
               "random: cannot draw 4 of 3 without repetition");
  EXPECT_ERROR(sample_without_replacement(random, 3, -1),
               "random: cannot draw -1 of 3 without repetition");
  EXPECT_ERROR(sample_without_replacement(random, int64_t{1} << 31, 1),
               "random: cannot draw 1 of 2147483648 without repetition");
  EXPECT_ERROR(fill_normal(Tensor::empty({1}, kU8), random, 0, 1),
               "tensor: elements are u8, not f32");
}

}  // namespace
}  // namespace loopless
