/// Backpropagation through time, the baseline: the recurrence is unrolled over T steps.
///
///   m_0 = 0,   m_{t+1} = f(m_t, x[t]),   loss = mean over valid t of CE(readout(m_{t+1}), y[t])
///
/// `truncate` N cuts the gradient every N steps and carries the memory on; `recompute` N keeps the
/// memories alone, not what is computed on the way to them, and runs N steps at a time again in
/// backward, so that long T fits in memory.
#pragma once

#include "models/rnn.h"
#include "train/config.h"
#include "train/method.h"

namespace loopless {

/// What one piece of a batch is computed from; times outermost.
struct BpttBatch {
  Tensor tokens;        // i32 [T, B]
  Tensor targets;       // i32 [T, B]
  Tensor target_count;  // f32 [1]: valid targets of the whole batch
};
/// Throws Error if the windows are shorter than T or an input token is padding.
BpttBatch make_bptt_batch(const Windows& windows, Piece rows, const BpttConfig& config);

struct BpttResult {
  Tensor loss;      // f32 [1], this piece's share, outside the graph
  Tensor memories;  // m_1 ... m_T: [T B, K, C], outside the graph
};
/// Where recording is on, also adds the gradient to the RNN's parameters.
BpttResult bptt_step(const Rnn& rnn, const BpttBatch& batch, const BpttConfig& config);

class Bptt : public Method {
 public:
  Bptt(Rnn& rnn, const BpttConfig& config) : rnn_(rnn), config_(config) {}

  std::vector<ParameterGroup> groups() override;
  LossTerms run(const Windows& batch, Piece piece, DrawKey draw) override;
  int64_t window_length() const override { return config_.T; }
  int64_t tokens_per_window() const override { return config_.T; }
  double flop_per_step(int64_t batch) const override;

 private:
  Rnn& rnn_;
  BpttConfig config_;
};

}  // namespace loopless
