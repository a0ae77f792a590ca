#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/support/op_test.h"
#include "tests/support/tiny_models.h"
#include "tools/evaluation.h"

namespace loopless::testing {
namespace {

constexpr int64_t kVocab = 16;

struct Text {
  Text(int64_t size, uint64_t seed) : bytes(size) {
    std::mt19937_64 random(seed);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % kVocab);
  }
  Tokens tokens() const {
    return {"text", nullptr, bytes.data(), static_cast<int64_t>(bytes.size())};
  }
  Tensor ids(int64_t begin, int64_t count) const {
    return Tensor::from({1, count},
                        std::vector<int32_t>(bytes.begin() + begin, bytes.begin() + begin + count));
  }
  std::vector<uint8_t> bytes;
};

double bits_of(const Tensor& logits, int32_t target) {
  double sum = 0;
  for (float logit : logits.to_vector()) sum += std::exp(static_cast<double>(logit));
  return std::log2(sum) - logits.to_vector()[target] / std::log(2.0);
}

double squared_distance(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = a.to_vector(), y = b.to_vector();
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::pow(static_cast<double>(x[i]) - y[i], 2);
  return sum / static_cast<double>(x.size());
}

/// The protocol, one window after the other.
Evaluation expected_evaluation(const Models& m, const Text& text, const EvaluationConfig& config) {
  const int64_t Tc = config.context, n = config.length;
  const int64_t starts = text.tokens().size - (Tc + n - 1);
  Evaluation e;
  e.teacher.emplace().by_position.resize(n);
  e.rnn.by_position.resize(n);
  e.drift.resize(n);
  for (int64_t w = 0; w < config.windows; ++w) {
    const int64_t begin = w * starts / config.windows;
    Tensor memory = m.rnn->empty_memory(1);
    if (m.teacher) memory = m.teacher->encode(text.ids(begin, Tc));
    for (int64_t t = 0; t < Tc && !m.teacher; ++t) {
      memory = m.rnn->step(memory, text.ids(begin + t, 1));
    }
    for (int64_t p = 0; p < n; ++p) {
      const int32_t target = text.bytes[begin + Tc + p];
      const double share = 1.0 / static_cast<double>(config.windows);
      e.rnn.by_position[p] += share * bits_of(m.rnn->readout(memory), target);
      if (m.teacher) {
        const Tensor label = m.teacher->encode(text.ids(begin + p, Tc));
        const Tensor logits = m.teacher->decode(label, Tensor::empty({1, 0}, kI32));
        e.teacher->by_position[p] += share * bits_of(logits, target);
        e.drift[p] += share * squared_distance(memory, label);
      }
      memory = m.rnn->step(memory, text.ids(begin + Tc + p, 1));
    }
  }
  return e;
}

const EvaluationConfig kSmall = {.windows = 5, .length = 6, .context = 4, .batch = 2};

TEST(Evaluation, follows_the_protocol) {
  const Text train(300, 1), test(60, 2);
  for (const char* method : {"smt", "bptt"}) {
    const Models models = tiny_models(method, 4, kVocab);
    const Evaluation got = evaluate(models, {train.tokens(), test.tokens()}, kSmall);
    const Evaluation expected = expected_evaluation(models, test, kSmall);
    // Logits of a few units in float, summed over windows in double.
    const double tolerance = 16 * ulp(8);
    EXPECT_EQ(got.windows, 5);
    EXPECT_LE(largest_difference(got.rnn.by_position, expected.rnn.by_position), tolerance);
    ASSERT_EQ(got.teacher.has_value(), models.teacher != nullptr);
    if (!got.teacher) {
      EXPECT_TRUE(got.drift.empty());
      continue;
    }
    EXPECT_LE(largest_difference(got.teacher->by_position, expected.teacher->by_position),
              tolerance);
    EXPECT_LE(largest_difference(got.drift, expected.drift), tolerance);
    EXPECT_EQ(got.drift[0], 0) << "both begin with the encoder's memory";
    EXPECT_GT(got.drift[1], 0.01);
  }
}

TEST(Evaluation, a_short_split_has_fewer_windows) {
  const Text text(12, 1);  // windows of 4 + 6 tokens begin at 0, 1 and 2
  const Evaluation got =
      evaluate(tiny_models("bptt", 4, kVocab), {text.tokens(), text.tokens()}, kSmall);
  EXPECT_EQ(got.windows, 3);
}

TEST(Evaluation, unigram_bits_by_hand) {
  const std::vector<uint8_t> train = {0, 0, 0, 0, 0, 1, 2, 2}, test = {0, 1, 3, 3};
  // Of 12 counts with one more for each of 4 tokens: 6, 2, 3, 1.
  const double expected = (std::log2(12 / 6.0) + std::log2(12 / 2.0) + 2 * std::log2(12.0)) / 4;
  const Tokens a{"a", nullptr, train.data(), 8}, b{"b", nullptr, test.data(), 4};
  EXPECT_NEAR(unigram_bits(a, b, 4), expected, 1e-12);
  // A vocabulary above 256 only adds what never occurs.
  EXPECT_NEAR(unigram_bits(a, b, 300), expected + std::log2(308 / 12.0), 1e-12);
}

TEST(Evaluation, means_of_parts) {
  Bits bits;
  for (int i = 0; i < 100; ++i) bits.by_position.push_back(i);
  EXPECT_EQ(bits.mean(), 49.5);
  EXPECT_EQ(bits.first8(), 3.5);
  EXPECT_EQ(bits.last32(), 83.5);
  bits.by_position = {2, 4};
  EXPECT_EQ(bits.first8(), 3);
  EXPECT_EQ(bits.last32(), 3);
}

TEST(Evaluation, errors) {
  const Text text(9, 1);
  EXPECT_ERROR(evaluate(tiny_models("bptt", 4, kVocab), {text.tokens(), text.tokens()}, kSmall),
               "text: a split of 9 tokens is shorter than one window of T + 1 = 10; use a smaller "
               "T or more data");
}

}  // namespace
}  // namespace loopless::testing
