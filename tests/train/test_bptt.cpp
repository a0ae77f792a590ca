#include "tests/support/golden.h"
#include "tests/support/gradients.h"
#include "tests/support/op_test.h"
#include "train/bptt.h"

namespace loopless::testing {
namespace {

BpttConfig small_bptt() {
  BpttConfig config;
  config.T = 10;
  return config;
}

void expect_golden(const std::string& name, const BpttConfig& config) {
  const Golden golden(name);
  GoldenModels models;
  Bptt bptt(models.rnn, config);
  const FlatParameters parameters(bptt.groups());
  const BpttBatch batch = make_bptt_batch(golden.windows(), {0, 3}, config);
  const BpttResult r = bptt_step(models.rnn, batch, config);
  golden.expect(r.loss, "loss", kGoldenBptt);
  golden.expect_gradients(models.rnn.parameters(), kGoldenBpttGradient);
  const Tensor want = golden.at("m_rnn");  // [B, T, K C]; ours has time outermost
  for (int64_t t = 0; t < 10; ++t) {
    for (int64_t b = 0; b < 3; ++b) {
      for (int64_t c = 0; c < 64; ++c) {
        ASSERT_NEAR(r.memories.data()[(t * 3 + b) * 64 + c], want.data()[(b * 10 + t) * 64 + c],
                    kGoldenBptt * largest_magnitude(want.to_vector()));
      }
    }
  }
}

TEST(Bptt, golden) { expect_golden("bptt", small_bptt()); }
TEST(Bptt, golden_masked) { expect_golden("bptt_masked", small_bptt()); }
TEST(Bptt, golden_recomputed) {
  BpttConfig config = small_bptt();
  config.recompute = 3;  // segments of 3, 3, 3 and 1 steps
  expect_golden("bptt", config);
}

GradientsByName gradients(const BpttConfig& config, int64_t pieces = 1) {
  GoldenModels models;
  Bptt bptt(models.rnn, config);
  Windows windows{random_ids({8, 10}, 0, 10, 1), random_ids({8, 10}, 0, 10, 2)};
  for (int64_t t = 2; t < 7; ++t) windows.y.data<int32_t>()[3 * 10 + t] = -1;
  return gradients_in_pieces(bptt, windows, pieces);
}

TEST(Bptt, pieces_add_up_to_the_batch) {
  expect_same_gradients(gradients(small_bptt()), gradients(small_bptt(), 4), 1e-4);
}

TEST(Bptt, truncation_cuts_the_gradient_and_carries_the_memory_on) {
  BpttConfig cut = small_bptt();
  cut.truncate = 4;
  GoldenModels models;
  const Windows windows{random_ids({3, 10}, 0, 10, 1), random_ids({3, 10}, 0, 10, 2)};
  const FlatParameters parameters({{"rnn", models.rnn.parameters(), true}});
  const BpttBatch batch = make_bptt_batch(windows, {0, 3}, cut);
  const BpttResult r = bptt_step(models.rnn, batch, cut);
  const std::vector<float> ours = parameters.grads().to_vector();
  parameters.zero_grads();
  EXPECT_EQ(bptt_step(models.rnn, batch, small_bptt()).loss.item(), r.loss.item());
  EXPECT_GT(largest_difference(parameters.grads().to_vector(), ours), 0);
  // The same gradient, one stretch at a time, each from the memory that the last one left.
  parameters.zero_grads();
  Tensor memory = models.rnn.empty_memory(3);
  for (int64_t t = 0; t < 10; t += 4) {
    Tensor m = detach(memory);
    for (int64_t s = t; s < std::min<int64_t>(10, t + 4); ++s) {
      m = models.rnn.step(m, batch.tokens.view_rows(s, 1).view({3, 1}));
      const Tensor logits = models.rnn.readout(m);
      std::vector<float> dlogits(logits.numel());
      for (int64_t b = 0; b < 3; ++b) {
        double sum = 0;
        const float* row = logits.data() + b * 11;
        for (int v = 0; v < 11; ++v) sum += std::exp(static_cast<double>(row[v]));
        for (int v = 0; v < 11; ++v) {
          const bool is_target = batch.targets.data<int32_t>()[s * 3 + b] == v;
          dlogits[b * 11 + v] = static_cast<float>((std::exp(row[v]) / sum - is_target) / 30);
        }
      }
      backward_from(logits, Tensor::from(logits.shape(), dlogits), {.retain_graph = true});
    }
    memory = m;
  }
  EXPECT_LE(largest_difference(parameters.grads().to_vector(), ours),
            1e-4 * largest_magnitude(ours));
}

TEST(Bptt, truncation_and_recomputation_together) {
  BpttConfig cut = small_bptt();
  cut.truncate = 4;
  BpttConfig both = cut;
  both.recompute = 3;
  expect_same_gradients(gradients(cut), gradients(both), 1e-5);
}

TEST(Bptt, errors) {
  const Windows small{random_ids({1, 9}, 0, 10, 1), random_ids({1, 9}, 0, 10, 2)};
  EXPECT_ERROR(make_bptt_batch(small, {0, 1}, small_bptt()),
               "bptt: windows of 9 tokens are shorter than T = 10");
  Windows padded{random_ids({1, 10}, 0, 10, 1), random_ids({1, 10}, 0, 10, 2)};
  padded.x.data<int32_t>()[9] = -1;
  EXPECT_ERROR(make_bptt_batch(padded, {0, 1}, small_bptt()),
               "bptt: an input of the cell is padding (-1)");
}

}  // namespace
}  // namespace loopless::testing
