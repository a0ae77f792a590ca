/// How well teacher and RNN predict held-out text, and how far the RNN's memory drifts.
///
/// Fixed windows of context + length tokens, spread evenly over the held-out split. For each
/// position p of the `length` tokens after the context:
///
///   teacher   memory m_p  = encoder(x[p : p+Tc]), a fresh context each time
///   rnn       memory m^_0 = m_0, m^_p = f(m^_{p-1}, x[Tc+p-1]): it reads on by itself; a run
///             without a teacher (BPTT) has read the context from the empty memory instead
///   bits_p    mean over windows of CE(decoder or readout of the memory, x[Tc+p]) / ln 2
///   drift_p   mean over windows of MSE(m^_p, m_p)
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "train/checkpoint.h"
#include "train/data/dataset.h"

namespace loopless {

struct EvaluationConfig {
  int64_t windows = 256;
  int64_t length = 128;
  int64_t context = 64;  // Tc
  int64_t batch = 32;    // windows that are read together; changes the time, not the result
};

/// Bits per token.
struct Bits {
  std::vector<double> by_position;

  double mean() const { return mean_of(0, size()); }
  double first8() const { return mean_of(0, std::min<int64_t>(8, size())); }
  double last32() const { return mean_of(std::max<int64_t>(0, size() - 32), size()); }

 private:
  int64_t size() const { return static_cast<int64_t>(by_position.size()); }
  double mean_of(int64_t begin, int64_t end) const;
};

struct Evaluation {
  int64_t windows = 0;  // fewer than asked for in a short split
  double unigram = 0;   // bits per token of one distribution for all positions
  std::optional<Bits> teacher;
  Bits rnn;
  std::vector<double> drift;  // empty without a teacher
};

/// Bits per token of `test` under the frequencies of tokens in `train`, each counted once more
/// than it occurs, so that a new one is possible.
double unigram_bits(const Tokens& train, const Tokens& test, int64_t vocab_size);

/// Throws Error, naming the file, if the held-out split is shorter than one window.
Evaluation evaluate(const Models& models, const Dataset& dataset, const EvaluationConfig& config);

}  // namespace loopless
