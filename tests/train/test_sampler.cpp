#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "train/data/sampler.h"

namespace loopless {
namespace {

/// Tokens 0, 1, 2, ..., so that a window's first token is where it starts.
Tokens counting(int64_t size) {
  auto values = std::make_shared<std::vector<uint8_t>>(size);
  std::iota(values->begin(), values->end(), uint8_t{0});
  return {"count.npy", values, values->data(), size};
}

std::vector<int32_t> starts(const Windows& windows) {
  std::vector<int32_t> result;
  for (int64_t row = 0; row < windows.x.size(0); ++row) {
    result.push_back(windows.x.data<int32_t>()[row * windows.x.size(1)]);
  }
  return result;
}

TEST(Sampler, y_is_the_next_token) {
  const Windows windows = sample_windows(counting(200), 7, 50, 1, 0);
  ASSERT_EQ(windows.x.shape(), Shape({50, 7}));
  ASSERT_EQ(windows.y.shape(), Shape({50, 7}));
  const auto x = windows.x.to_vector<int32_t>(), y = windows.y.to_vector<int32_t>();
  for (int64_t i = 0; i < 350; ++i) {
    EXPECT_EQ(x[i], x[i - i % 7] + i % 7);
    EXPECT_EQ(y[i], x[i] + 1);
  }
}

TEST(Sampler, tokens_above_127_stay_positive) {
  const Windows windows = fixed_windows(counting(256), 255, 1);
  EXPECT_EQ(windows.y.to_vector<int32_t>().back(), 255);
}

TEST(Sampler, depends_on_seed_and_step_alone) {
  const Tokens tokens = counting(250);
  const auto draw = [&](uint64_t seed, int64_t step) {
    return starts(sample_windows(tokens, 10, 16, seed, step));
  };
  EXPECT_EQ(draw(3, 5), draw(3, 5));
  EXPECT_NE(draw(3, 5), draw(3, 6));
  EXPECT_NE(draw(3, 5), draw(4, 5));
}

TEST(Sampler, does_not_depend_on_how_a_batch_is_split) {
  const Tokens tokens = counting(250);
  const std::vector<int32_t> whole = starts(sample_windows(tokens, 10, 12, 3, 5));
  std::vector<int32_t> joined;
  for (int64_t first = 0; first < 12; first += 4) {
    const auto piece = starts(sample_windows(tokens, 10, 4, 3, 5, first));
    joined.insert(joined.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(joined, whole);
}

TEST(Sampler, reaches_every_start_equally_often) {
  constexpr int64_t kStarts = 20, kDraws = 20'000;
  std::vector<double> counts(kStarts);
  for (const int32_t start : starts(sample_windows(counting(kStarts + 5), 5, kDraws, 0, 0))) {
    ASSERT_LT(start, kStarts);
    ++counts[start];
  }
  // Binomial: mean 1,000, standard deviation 31; five of them are missed once in 10^5 seeds.
  for (const double count : counts) EXPECT_NEAR(count, 1000, 5 * 31);
}

TEST(Sampler, fixed_windows_are_evenly_spaced) {
  const Tokens tokens = counting(105);
  EXPECT_EQ(starts(fixed_windows(tokens, 5, 4)), (std::vector<int32_t>{0, 25, 50, 75}));
  EXPECT_EQ(starts(fixed_windows(tokens, 5, 1)), (std::vector<int32_t>{0}));
  EXPECT_EQ(starts(fixed_windows(counting(8), 5, 100)), (std::vector<int32_t>{0, 1, 2}));
}

TEST(Sampler, errors) {
  const auto message_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing thrown";
  };
  const std::string too_short =
      "count.npy: a split of 10 tokens is shorter than one window of T + 1 = 11; use a smaller T "
      "or more data";
  const Tokens tokens = counting(10);
  EXPECT_EQ(message_of([&] { sample_windows(tokens, 10, 1, 0, 0); }), too_short);
  EXPECT_EQ(message_of([&] { fixed_windows(tokens, 10, 1); }), too_short);
  EXPECT_EQ(message_of([&] { sample_windows(tokens, 9, 1, 0, 0); }), "nothing thrown");
  EXPECT_EQ(message_of([&] { sample_windows(tokens, 0, 1, 0, 0); }),
            "windows: T must be at least 1, got 0");
}

}  // namespace
}  // namespace loopless
