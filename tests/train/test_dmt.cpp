#include <set>
#include <string>

#include "tests/support/golden.h"
#include "tests/support/gradients.h"
#include "tests/support/op_test.h"
#include "train/dmt.h"
#include "train/optimizer.h"

namespace loopless::testing {
namespace {

DmtConfig small_dmt(int64_t k) {
  DmtConfig config;
  config.Tc = 12;
  config.Td = 8;
  config.Tf = 4;
  config.T = 24;
  config.k = k;
  return config;
}

void expect_golden(const std::string& name, const DmtConfig& config) {
  const Golden golden(name);
  GoldenModels models;
  Dmt dmt(models.teacher, models.rnn, config);
  const FlatParameters parameters(dmt.groups());
  const DmtBatch batch = make_dmt_batch(golden.windows(), {0, 3}, config);
  const DmtResult r = dmt_step(models.teacher, models.rnn, batch, config);
  // The file has the batch outermost, we have time.
  const auto time_first = [&](const std::string& tensor) {
    const Tensor x = golden.at(tensor);
    const int64_t B = x.size(0), T = x.size(1), C = x.columns();
    const Tensor y = Tensor::empty({T, B, C});
    for (int64_t t = 0; t < T; ++t) {
      for (int64_t b = 0; b < B; ++b) {
        std::copy_n(x.data() + (b * T + t) * C, C, y.data() + (t * B + b) * C);
      }
    }
    return y.to_vector();
  };
  // It holds the memories of the label times.
  const Tensor at_labels = Tensor::empty(r.labels.shape());
  for (int64_t i = 0; i < at_labels.size(0); ++i) {
    at_labels.view_rows(i, 1).copy_from(r.memories.view_rows(i * config.k, 1));
  }
  EXPECT_LE(largest_difference(at_labels.to_vector(), time_first("z_rnn")),
            kGoldenDmt * largest_magnitude(time_first("z_rnn")));
  EXPECT_LE(largest_difference(r.labels.to_vector(), time_first("z_enc")),
            kGoldenDmt * largest_magnitude(time_first("z_enc")));
  golden.expect(r.loss_dyn, "loss_dyn", kGoldenDmt);
  golden.expect(r.loss_readout, "loss_readout", kGoldenDmt);
  // The file's total includes two terms that a frozen teacher turns into constants.
  const double constants = std::stod(golden.setting("coef_dec")) * golden.number("loss_decoder") +
                           std::stod(golden.setting("coef_unif")) * golden.number("loss_unif");
  const double want = golden.number("loss") - constants;
  EXPECT_NEAR(r.loss.item(), want, kGoldenDmt * golden.number("loss"));
  golden.expect_gradients(models.rnn.parameters(), kGoldenGradient);
}

TEST(Dmt, golden_detach_k4) { expect_golden("dmt_detach_k4", small_dmt(4)); }
TEST(Dmt, golden_detach_k1) { expect_golden("dmt_detach_k1", small_dmt(1)); }
TEST(Dmt, golden_full_k4) {
  DmtConfig config = small_dmt(4);
  config.grad = DmtGrad::kFullBptt;
  expect_golden("dmt_full_k4", config);
}
TEST(Dmt, golden_full_readout) {
  DmtConfig config = small_dmt(1);
  config.grad = DmtGrad::kFullBptt;
  config.detach_readout = false;
  expect_golden("dmt_full_readout", config);
}

TEST(Dmt, golden_five_steps) {
  const Golden golden("train_dmt");
  GoldenModels models;
  Dmt dmt(models.teacher, models.rnn, small_dmt(4));
  const FlatParameters parameters(dmt.groups());
  OptimizerConfig settings;
  settings.lr = 0.01;
  settings.weight_decay = 0.1;
  settings.lr_schedule = LrSchedule::kWarmupCosine;
  Optimizer optimizer(parameters, settings, 5);
  double lr_sum = 0;
  for (int64_t s = 0; s < 5; ++s) {
    const Windows windows{golden.at("in.x").view_rows(s, 1).view({3, 24}),
                          golden.at("in.y").view_rows(s, 1).view({3, 24})};
    parameters.zero_grads();
    dmt.run(windows, {0, 3}, {});
    optimizer.step();
    lr_sum += optimizer.lr();
    EXPECT_FLOAT_EQ(static_cast<float>(optimizer.lr()), golden.at("lr").data()[s]);
    const float want = golden.at("grad_norm_rnn").data()[s];
    EXPECT_NEAR(optimizer.norms()[0].norm.item(), want, 1e-4 * want) << "step " << s;
  }
  golden.expect_after(models.rnn.parameters(), 2 * lr_sum);
}

/// In detach mode with a readout that reaches the cell, two ways to the same gradient: the batched
/// phase 2, and the recorded rollout cut at every step by hand.
TEST(Dmt, attached_readout_reaches_one_step_back) {
  DmtConfig config = small_dmt(4);
  config.detach_readout = false;
  const Windows windows{random_ids({3, 24}, 0, 10, 1), random_ids({3, 24}, 0, 10, 2)};
  GoldenModels models;
  Dmt dmt(models.teacher, models.rnn, config);
  const FlatParameters parameters(dmt.groups());
  dmt.run(windows, {0, 3}, {});
  const std::vector<float> both = parameters.grads().to_vector();
  config.coef_dyn = 0;
  parameters.zero_grads();
  Dmt(models.teacher, models.rnn, config).run(windows, {0, 3}, {});
  const std::vector<float> readout = parameters.grads().to_vector();
  config.coef_dyn = 10;
  config.coef_readout = 0;
  parameters.zero_grads();
  Dmt(models.teacher, models.rnn, config).run(windows, {0, 3}, {});
  std::vector<float> sum = parameters.grads().to_vector();
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += readout[i];
  EXPECT_LE(largest_difference(sum, both), 1e-5 * largest_magnitude(both));
  // The readout's loss reaches the cell's embedding.
  const Tensor embed = grad_of(*models.rnn.parameters()[0].tensor);
  EXPECT_GT(largest_magnitude(embed.to_vector()), 0);
}

TEST(Dmt, fifteen_cell_backwards_at_Td_256_and_no_teacher_gradient) {
  DmtConfig config;
  config.Tc = 4;
  config.Td = 256;
  config.T = 260;
  config.k = 16;
  const int64_t B = 2;
  const Windows windows{random_ids({B, 260}, 0, 10, 1), random_ids({B, 260}, 0, 10, 2)};
  GoldenModels models;
  Dmt dmt(models.teacher, models.rnn, config);
  const FlatParameters parameters(dmt.groups());
  int64_t cell_rows = 0;
  std::set<std::string> ops;
  observe_backward([&](const char* op, const Tensor& dy) {
    ops.insert(op);
    // Only the cell reads tokens, and each of its steps reads one for every sequence.
    if (std::string(op) == "embedding") cell_rows += dy.size(0);
  });
  dmt.run(windows, {0, B}, {});
  observe_backward({});
  EXPECT_EQ(cell_rows, 15 * B);
  EXPECT_TRUE(ops.contains("attention"));
  for (const NamedParameter& parameter : models.teacher.parameters()) {
    EXPECT_FALSE(grad_of(*parameter.tensor).defined()) << parameter.name;
  }
}

TEST(Dmt, pieces_add_up_to_the_batch) {
  Windows windows{random_ids({8, 24}, 0, 10, 1), random_ids({8, 24}, 0, 10, 2)};
  for (int64_t t = 11; t < 16; ++t) windows.y.data<int32_t>()[3 * 24 + t] = -1;
  const auto gradients = [&](int64_t pieces) {
    GoldenModels models;
    Dmt dmt(models.teacher, models.rnn, small_dmt(4));
    return gradients_in_pieces(dmt, windows, pieces);
  };
  expect_same_gradients(gradients(1), gradients(4), 1e-5);
  expect_same_gradients(gradients(1), gradients(3), 1e-5);
}

TEST(Dmt, errors) {
  const Windows small{random_ids({1, 18}, 0, 10, 1), random_ids({1, 18}, 0, 10, 2)};
  EXPECT_ERROR(make_dmt_batch(small, {0, 1}, small_dmt(4)),
               "dmt: windows of 18 tokens are shorter than Tc + Td - 1 = 19");
  Windows padded{random_ids({1, 24}, 0, 10, 1), random_ids({1, 24}, 0, 10, 2)};
  padded.x.data<int32_t>()[14] = -1;
  EXPECT_ERROR(make_dmt_batch(padded, {0, 1}, small_dmt(4)),
               "dmt: an input of the cell, x[Tc ...], is padding (-1)");
}

}  // namespace
}  // namespace loopless::testing
