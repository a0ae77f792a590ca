#include <gtest/gtest.h>

#include "train/flops.h"

namespace loopless {
namespace {

/// The paper's sizes: width 256, 8 heads of 64, 16 memory tokens, 8, 4 and 8 layers.
struct Paper {
  Paper() {
    for (ModelConfig* config :
         {static_cast<ModelConfig*>(&teacher), static_cast<ModelConfig*>(&rnn)}) {
      config->mem_tokens = 16;
      config->mem_size = 4096;
    }
    dmt.Td = 256;
    dmt.T = 576;
    dmt.k = 16;
  }
  TeacherConfig teacher;
  RnnConfig rnn;
  SmtConfig smt;
  DmtConfig dmt;
  BpttConfig bptt;
};

// Each expected value was added up by hand from the sizes of the products, to the digits given.
TEST(Flops, of_the_papers_sizes) {
  const Paper p;
  EXPECT_NEAR(smt_flop(p.teacher, p.rnn, p.smt, 128), 4818.1e9, 2e9);
  EXPECT_NEAR(smt_flop(p.teacher, p.rnn, p.smt, 8), 301.1e9, 0.2e9);
  EXPECT_NEAR(dmt_flop(p.teacher, p.rnn, p.dmt, 32), 8.93e12, 0.01e12);
  EXPECT_NEAR(bptt_flop(p.rnn, p.bptt, 1), 0.3267e12, 0.0003e12);
}

TEST(Flops, of_a_rollout_that_is_differentiated) {
  Paper p;
  const double cut = dmt_flop(p.teacher, p.rnn, p.dmt, 1);
  p.dmt.grad = DmtGrad::kFullBptt;
  // 240 more updates go backward, each at twice its forward.
  const double update = 37.1e9 / 128;
  EXPECT_NEAR(dmt_flop(p.teacher, p.rnn, p.dmt, 1) - cut, 240 * 2 * update, 0.01 * 480 * update);
}

}  // namespace
}  // namespace loopless
