#include "tests/support/golden.h"
#include "tests/support/gradients.h"
#include "tests/support/op_test.h"
#include "train/optimizer.h"
#include "train/smt.h"

namespace loopless::testing {
namespace {

SmtConfig golden_smt(const Golden& golden) {
  SmtConfig config;
  config.Tc = 12;
  config.Tf = 6;
  config.T = 18;
  config.gamma = std::stod(golden.setting("gamma"));
  config.coef_dec = std::stod(golden.setting("coef_dec"));
  config.coef_dyn = std::stod(golden.setting("coef_dyn"));
  config.coef_unif = std::stod(golden.setting("coef_unif"));
  config.unif_over_tokens = golden.setting("unif_over_tokens") == "True";
  config.detach_rnn = golden.setting("detach_rnn") == "True";
  return config;
}

/// Everything the file holds, for one batch.
void expect_golden(const std::string& name, const ModelConfig& memory = {}) {
  const Golden golden(name);
  GoldenModels models(memory);
  const SmtConfig config = golden_smt(golden);
  Smt smt(models.teacher, models.rnn, config);
  const FlatParameters parameters(smt.groups());
  const SmtBatch batch = make_smt_batch(golden.windows(), {0, 3}, config, models.rnn.config(), {});
  const SmtResult r = smt_loss(models.teacher, models.rnn, batch, config);
  golden.expect(r.memory, "m_now", kGoldenSmt);
  golden.expect(r.next_memory, "m_next", kGoldenSmt);
  golden.expect(r.predicted, "m_next_pred", kGoldenSmt);
  golden.expect(r.logits, "logits", kGoldenSmt);
  golden.expect(r.loss_dec, "loss_decoder", kGoldenSmt);
  golden.expect(r.loss_dec0, "loss_decoder0", kGoldenSmt);
  golden.expect(r.loss_dyn, "loss_dyn", kGoldenSmt);
  golden.expect(r.loss_unif, "loss_unif", kGoldenUnif);
  golden.expect(r.loss, "loss", kGoldenSmt);
  const Tensor want_at = golden.at("loss_decoder_");
  for (int64_t i = 0; i < want_at.numel(); ++i) {
    if (batch.targets.data<int32_t>()[i] < 0) continue;  // the file holds the loss of class 0 there
    EXPECT_NEAR(r.loss_dec_at.data()[i], want_at.data()[i],
                kGoldenSmt * largest_magnitude(want_at.to_vector()));
  }
  backward(r.loss);
  golden.expect_gradients(models.teacher.parameters(), kGoldenGradient);
  golden.expect_gradients(models.rnn.parameters(), kGoldenGradient);
}

TEST(Smt, golden_joint) { expect_golden("smt_joint"); }
TEST(Smt, golden_detached) { expect_golden("smt_detached"); }
TEST(Smt, golden_padded) { expect_golden("smt_padded"); }
TEST(Smt, golden_fsq) {
  ModelConfig memory;
  memory.mem_fsq = 0.5;
  expect_golden("smt_fsq", memory);
}
TEST(Smt, golden_no_norm) {
  ModelConfig memory;
  memory.mem_rms_norm = false;
  expect_golden("smt_no_norm", memory);
}

TEST(Smt, golden_five_steps) {
  const Golden golden("train_smt");
  GoldenModels models;
  SmtConfig config;
  config.Tc = 12;
  config.Tf = 6;
  config.T = 18;
  Smt smt(models.teacher, models.rnn, config);
  const FlatParameters parameters(smt.groups());
  OptimizerConfig settings;
  settings.lr = 0.01;
  settings.weight_decay = 0.1;
  Optimizer optimizer(parameters, settings, 200);
  double lr_sum = 0;
  for (int64_t s = 0; s < 5; ++s) {
    const Windows windows{golden.at("in.x").view_rows(s, 1).view({3, 18}),
                          golden.at("in.y").view_rows(s, 1).view({3, 18})};
    parameters.zero_grads();
    const LossTerms terms = smt.run(windows, {0, 3}, {});
    optimizer.step(terms[0].second);
    lr_sum += optimizer.lr();
    EXPECT_FLOAT_EQ(static_cast<float>(optimizer.lr()), golden.at("lr").data()[s]);
    const auto near = [&](float ours, const char* name) {
      const float want = golden.at(name).data()[s];
      EXPECT_NEAR(ours, want, 1e-4 * std::abs(want)) << name << " at step " << s;
    };
    near(terms[0].second.item(), "loss");
    for (const Optimizer::GroupNorm& norm : optimizer.norms()) {
      near(norm.norm.item(), norm.group == "rnn" ? "grad_norm_rnn" : "grad_norm_teacher");
    }
  }
  golden.expect_after(models.teacher.parameters(), 2 * lr_sum);
  golden.expect_after(models.rnn.parameters(), 2 * lr_sum);
}

TEST(Smt, pieces_add_up_to_the_batch) {
  // The masks make the pieces' numbers of valid targets unequal: 18 - 6, 18, ...
  Windows windows{random_ids({8, 18}, 0, 10, 1), random_ids({8, 18}, 0, 10, 2)};
  for (int64_t t = 11; t < 15; ++t) windows.y.data<int32_t>()[t] = -1;
  for (int64_t t = 13; t < 17; ++t) windows.y.data<int32_t>()[5 * 18 + t] = -1;
  SmtConfig config;
  config.Tc = 12;
  config.Tf = 6;
  config.coef_unif = 0;
  const auto gradients = [&](int64_t pieces) {
    GoldenModels models;
    Smt smt(models.teacher, models.rnn, config);
    return gradients_in_pieces(smt, windows, pieces);
  };
  expect_same_gradients(gradients(1), gradients(4), 1e-5);
  expect_same_gradients(gradients(1), gradients(3), 1e-5);
}

TEST(Smt, readout_becomes_the_teachers_decoder) {
  GoldenModels models;
  Smt smt(models.teacher, models.rnn, {});
  smt.finish_weights();
  const Tensor memory = random_tensor({5, 4, 16}, 3);
  const Tensor teacher = models.teacher.decode(memory, Tensor::empty({5, 0}, kI32));
  EXPECT_EQ(models.rnn.readout(memory).to_vector(), teacher.to_vector());
}

TEST(Smt, frozen_parts_get_no_gradient) {
  const Windows windows{random_ids({2, 18}, 0, 10, 1), random_ids({2, 18}, 0, 10, 2)};
  SmtConfig config;
  config.Tc = 12;
  config.Tf = 6;
  config.hot_teacher = false;
  GoldenModels models;
  Smt smt(models.teacher, models.rnn, config);
  const FlatParameters parameters(smt.groups());
  smt.run(windows, {0, 2}, {});
  EXPECT_EQ(parameters.trained_count(), parameters.groups()[0].count);
  EXPECT_EQ(parameters.groups()[0].name, "rnn");
  EXPECT_GT(largest_magnitude(parameters.grads().to_vector()), 0);
  for (const NamedParameter& parameter : models.teacher.parameters()) {
    EXPECT_FALSE(grad_of(*parameter.tensor).defined()) << parameter.name;
  }
}

TEST(Smt, errors) {
  GoldenModels models;
  SmtConfig config;
  config.Tc = 12;
  config.Tf = 6;
  const Windows small{random_ids({1, 17}, 0, 10, 1), random_ids({1, 17}, 0, 10, 2)};
  EXPECT_ERROR(make_smt_batch(small, {0, 1}, config, models.rnn.config(), {}),
               "smt: windows of 17 tokens are shorter than Tc + Tf = 18");
  Windows padded{random_ids({1, 18}, 0, 10, 1), random_ids({1, 18}, 0, 10, 2)};
  padded.x.data<int32_t>()[12] = -1;
  EXPECT_ERROR(make_smt_batch(padded, {0, 1}, config, models.rnn.config(), {}),
               "smt: the cell's input x[Tc] is padding (-1)");
}

}  // namespace
}  // namespace loopless::testing
