#include "tensor/philox.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace loopless {
namespace {

uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(b) ^ counter[1] ^ key[0], low(b), high(a) ^ counter[3] ^ key[1], low(a)};
    key[0] += 0x9E3779B9;  // the golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

std::array<uint32_t, 4> Philox::block(uint64_t number) const {
  return philox({low(number), high(number), low(stream_), high(stream_)},
                {low(seed_), high(seed_)});
}

uint32_t Philox::bits(uint64_t index) const { return block(index / 4)[index % 4]; }

float Philox::uniform(uint64_t index) const {
  return static_cast<float>(bits(index) >> 8) * 0x1p-24f;
}

int64_t Philox::below(uint64_t index, int64_t n) const {
  CHECK(n > 0, "random: below needs n > 0, got ", n);
  const std::array<uint32_t, 4> words = block(index / 2);
  const size_t first = index % 2 * 2;
  const uint64_t draw = words[first] | uint64_t{words[first + 1]} << 32;
  // The upper half of the product scales the draw from [0, 2^64) to [0, n).
  return static_cast<int64_t>(static_cast<unsigned __int128>(draw) * static_cast<uint64_t>(n) >>
                              64);
}

float Philox::normal(uint64_t index) const {
  const std::array<uint32_t, 4> words = block(index / 4);
  const size_t first = index % 4 / 2 * 2;
  const double u = (words[first] + 1.0) * 0x1p-32;  // in (0, 1]: its logarithm is finite
  const double radius = std::sqrt(-2 * std::log(u));
  const double angle = 2 * std::numbers::pi * words[first + 1] * 0x1p-32;
  return static_cast<float>(radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle)));
}

void fill_uniform(const Tensor& x, const Philox& random, float lo, float hi) {
  float* elements = x.data();
  for (int64_t i = 0; i < x.numel(); ++i) elements[i] = lo + (hi - lo) * random.uniform(i);
}

void fill_normal(const Tensor& x, const Philox& random, float mean, float std) {
  float* elements = x.data();
  for (int64_t i = 0; i < x.numel(); ++i) elements[i] = mean + std * random.normal(i);
}

std::vector<int32_t> sample_without_replacement(const Philox& random, int64_t population,
                                                int64_t count) {
  CHECK(count >= 0 && count <= population && population <= INT32_MAX, "random: cannot draw ", count,
        " of ", population, " without repetition");
  std::vector<int32_t> numbers(population);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (int64_t i = 0; i < count; ++i) {  // Fisher and Yates, stopped after the first `count`
    std::swap(numbers[i], numbers[i + random.below(i, population - i)]);
  }
  numbers.resize(count);
  return numbers;
}

}  // namespace loopless
