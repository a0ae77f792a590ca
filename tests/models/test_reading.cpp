#include "ops/cross_entropy/cross_entropy.h"
#include "tests/support/golden.h"
#include "tests/support/op_test.h"
#include "train/columns.h"

namespace loopless::testing {
namespace {

/// memory = encoder(x[0 : 12]); logits_0 = readout(memory); then one step of the cell for each
/// token: nine predictions need eight updates.
TEST(Reading, golden) {
  const Golden golden("read");
  GoldenModels models;
  const NoGrad no_grad;
  const Tensor x = golden.at("in.x");
  const int64_t read = 12, predicted = 9;
  Tensor memory = models.teacher.encode(columns(x, 0, read));
  const Tensor logits = Tensor::empty({3, predicted, 11});
  for (int64_t t = 0; t < predicted; ++t) {
    if (t > 0) memory = models.rnn.step(memory, columns(x, read + t - 1, 1));
    const Tensor now = models.rnn.readout(memory);
    for (int64_t b = 0; b < 3; ++b) {
      std::copy_n(now.data() + b * 11, 11, logits.data() + (b * predicted + t) * 11);
    }
  }
  // Eight updates on own memories: the tolerance of DMT's rollout of the same length.
  golden.expect(logits, "logits", kGoldenDmt);
  const Tensor loss = cross_entropy(logits, columns(x, read, predicted));
  golden.expect(loss, "loss_eval_", kGoldenDmt);
  double mean = 0;
  for (float value : loss.to_vector()) mean += value / 27.0;
  EXPECT_NEAR(mean, golden.number("loss_eval"), kGoldenDmt * golden.number("loss_eval"));
}

}  // namespace
}  // namespace loopless::testing
