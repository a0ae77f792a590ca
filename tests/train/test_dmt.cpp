#include <set>
#include <string>

#include "ops/cross_entropy/cross_entropy.h"
#include "ops/masked_mean/masked_mean.h"
#include "ops/mse/mse.h"
#include "ops/weighted_sum/weighted_sum.h"
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
    const LossTerms terms = dmt.run(windows, {0, 3}, {});
    optimizer.step(terms[0].second);
    lr_sum += optimizer.lr();
    EXPECT_FLOAT_EQ(static_cast<float>(optimizer.lr()), golden.at("lr").data()[s]);
    const float want = golden.at("grad_norm_rnn").data()[s];
    EXPECT_NEAR(optimizer.norms()[0].norm.item(), want, 1e-4 * want) << "step " << s;
  }
  golden.expect_after(models.rnn.parameters(), 2 * lr_sum);
}

/// One time of a [n, B, ...] tensor.
Tensor at(const Tensor& x, int64_t t) { return x.view_rows(t, 1).view(x.shape().tail()); }

/// In detach mode with a readout that reaches the cell, the batched phase 2 against the rollout
/// cut at every step by hand, one step and one backward at a time.
TEST(Dmt, attached_readout_reaches_one_step_back) {
  DmtConfig config = small_dmt(4);
  config.detach_readout = false;
  const Windows windows{random_ids({3, 24}, 0, 10, 1), random_ids({3, 24}, 0, 10, 2)};
  GoldenModels models;
  Dmt dmt(models.teacher, models.rnn, config);
  const FlatParameters parameters(dmt.groups());
  const DmtBatch batch = make_dmt_batch(windows, {0, 3}, config);
  const DmtResult r = dmt_step(models.teacher, models.rnn, batch, config);
  const std::vector<float> ours = parameters.grads().to_vector();

  parameters.zero_grads();
  double loss = 0;
  Tensor memory = at(r.labels, 0);
  for (int64_t t = 0; t < config.Td; ++t) {
    if (t > 0) memory = models.rnn.step(detach(memory), at(batch.tokens, t - 1).view({3, 1}));
    const Tensor targets = at(batch.targets, t).view({3});
    const Tensor ce = masked_mean(
        reshape(cross_entropy(models.rnn.readout(memory), targets), {3, 1}), targets.view({3, 1}));
    std::vector<Tensor> terms = {ce};
    std::vector<double> coefficients = {config.coef_readout / static_cast<double>(config.Td)};
    if (t % config.k == 0 && t > 0) {
      terms.push_back(mse(memory, at(r.labels, t / config.k)));
      coefficients.push_back(config.coef_dyn / 2);  // two label times
    }
    const Tensor total = weighted_sum(terms, coefficients);
    loss += total.item();
    backward(total);
  }
  EXPECT_NEAR(r.loss.item(), loss, kGoldenDmt * loss);
  // 4 times the error of a golden gradient: eight sums in another order.
  EXPECT_LE(largest_difference(parameters.grads().to_vector(), ours),
            4 * kGoldenGradient * largest_magnitude(ours));
}

DmtConfig hot(int64_t k, bool encoder, bool decoder) {
  DmtConfig config = small_dmt(k);
  config.hot_teacher_encoder = encoder;
  config.hot_teacher_decoder = decoder;
  return config;
}

/// With a hot teacher the terms that were constants are there, with the golden values.
TEST(Dmt, golden_terms_of_a_hot_teacher) {
  for (const char* name : {"dmt_detach_k4", "dmt_detach_k1"}) {
    const Golden golden(name);
    const DmtConfig config = hot(std::string(name) == "dmt_detach_k4" ? 4 : 1, true, true);
    GoldenModels models;
    Dmt dmt(models.teacher, models.rnn, config);
    const FlatParameters parameters(dmt.groups());
    const DmtBatch batch = make_dmt_batch(golden.windows(), {0, 3}, config);
    const DmtResult r = dmt_step(models.teacher, models.rnn, batch, config);
    golden.expect(r.loss_dec, "loss_decoder", kGoldenDmt);
    golden.expect(r.loss_unif, "loss_unif", kGoldenDmt);
    golden.expect(r.loss, "loss", kGoldenDmt);
    golden.expect_gradients(models.rnn.parameters(), kGoldenGradient);
  }
}

/// The gradient of a hot teacher against differences of the loss along a random direction. The
/// encoder is perturbed by central differences in f32: 1e-2 is what they can show.
TEST(Dmt, gradient_of_a_hot_teacher) {
  const Windows windows{random_ids({3, 24}, 0, 10, 1), random_ids({3, 24}, 0, 10, 2)};
  for (const DmtGrad grad : {DmtGrad::kDetach, DmtGrad::kFullBptt}) {
    DmtConfig config = hot(4, true, true);
    config.grad = grad;
    config.coef_unif = 1;
    // In detach mode the loss as a function of the encoder also runs through the memories, which
    // the gradient takes as given: only the whole gradient is that of the whole function.
    if (grad == DmtGrad::kDetach) config.coef_dyn = 0;
    config.detach_readout = grad == DmtGrad::kDetach;
    if (config.detach_readout) config.coef_readout = 0;
    GoldenModels models;
    Dmt dmt(models.teacher, models.rnn, config);
    const FlatParameters parameters(dmt.groups());
    const DmtBatch batch = make_dmt_batch(windows, {0, 3}, config);
    const auto loss = [&] {
      parameters.zero_grads();
      return double{dmt_step(models.teacher, models.rnn, batch, config).loss.item()};
    };
    const FlatParameters::Slice teacher = parameters.groups()[1];
    ASSERT_EQ(teacher.name, "teacher");
    const Tensor direction = random_tensor({teacher.count}, 9);
    loss();
    const Tensor gradient = parameters.grads().view_rows(teacher.begin, teacher.count).clone();
    const Tensor values = parameters.values().view_rows(teacher.begin, teacher.count);
    const Tensor start = values.clone();
    double along = 0;
    for (int64_t i = 0; i < teacher.count; ++i) {
      along += double{gradient.data()[i]} * direction.data()[i];
    }
    const auto at_distance = [&](float h) {
      for (int64_t i = 0; i < teacher.count; ++i) {
        values.data()[i] = start.data()[i] + h * direction.data()[i];
      }
      return loss();
    };
    constexpr float kStep = 2e-3f;
    const double difference = (at_distance(kStep) - at_distance(-kStep)) / (2 * double{kStep});
    EXPECT_NEAR(difference, along, 1e-2 * std::abs(along) + 1e-3);
  }
}

TEST(Dmt, each_hot_part_is_trained_alone) {
  const Windows windows{random_ids({3, 24}, 0, 10, 1), random_ids({3, 24}, 0, 10, 2)};
  for (const bool encoder : {true, false}) {
    GoldenModels models;
    Dmt dmt(models.teacher, models.rnn, hot(4, encoder, !encoder));
    const FlatParameters parameters(dmt.groups());
    dmt.run(windows, {0, 3}, {});
    for (const NamedParameter& parameter : models.teacher.parameters()) {
      const bool is_decoder = parameter.name.starts_with("teacher.decoder.");
      const Tensor grad = grad_of(*parameter.tensor);
      EXPECT_EQ(grad.defined(), is_decoder != encoder) << parameter.name;
      if (!grad.defined()) continue;
      EXPECT_GT(largest_magnitude(grad.to_vector()), 0) << parameter.name;
    }
  }
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
  const auto of_hot_teacher = [&](int64_t pieces) {
    GoldenModels models;
    DmtConfig config = hot(4, true, true);
    config.coef_unif = 0;  // compares the rows of a piece with each other
    Dmt dmt(models.teacher, models.rnn, config);
    return gradients_in_pieces(dmt, windows, pieces);
  };
  expect_same_gradients(of_hot_teacher(1), of_hot_teacher(3), 1e-5);
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
