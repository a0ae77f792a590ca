#include "tools/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "autograd/autograd.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/linear/linear.h"
#include "ops/mse/mse.h"
#include "train/columns.h"
#include "train/data/sampler.h"

namespace loopless {
namespace {

/// Windows that are read together: x [B, Tc + length - 1] and the tokens that come next.
struct Reading {
  Windows windows;
  int64_t context;
  double share;  // of all windows

  int64_t batch() const { return windows.x.size(0); }
  /// x[t : t + count].
  Tensor tokens(int64_t t, int64_t count) const { return columns(windows.x, t, count); }
  /// This batch's share of the mean bits of logits [B, V] of position p.
  double bits(const Tensor& logits, int64_t p) const {
    const Tensor targets = columns(windows.y, context - 1 + p, 1).view({batch()});
    const std::vector<float> loss = cross_entropy(logits, targets).to_vector();
    const double sum = std::accumulate(loss.begin(), loss.end(), 0.0);
    return share * sum / static_cast<double>(batch()) / std::numbers::ln2;
  }
};

Tensor first_memory(const Models& models, const Reading& reading) {
  if (models.teacher) return models.teacher->encode(reading.tokens(0, reading.context));
  Tensor memory = models.rnn->empty_memory(reading.batch());
  for (int64_t t = 0; t < reading.context; ++t) {
    memory = models.rnn->step(memory, reading.tokens(t, 1));
  }
  return memory;
}

/// Logits [B, V] of the token after the memory's context.
Tensor teacher_logits(const Teacher& teacher, const Tensor& memory) {
  const int64_t batch = memory.size(0);
  const Tensor no_future = Tensor::empty({batch, 0}, kI32);
  return teacher.decode(memory, no_future).view({batch, teacher.config().vocab_size});
}

void add_reading(const Models& models, const Reading& reading, Evaluation& sum) {
  Tensor memory = first_memory(models, reading);
  for (size_t p = 0; p < sum.rnn.by_position.size(); ++p) {
    if (p > 0) memory = models.rnn->step(memory, reading.tokens(reading.context + p - 1, 1));
    sum.rnn.by_position[p] += reading.bits(models.rnn->readout(memory), p);
    if (!models.teacher) continue;
    const Tensor label = models.teacher->encode(reading.tokens(p, reading.context));
    sum.teacher->by_position[p] += reading.bits(teacher_logits(*models.teacher, label), p);
    sum.drift[p] += reading.share * mse(memory, label).item();
  }
}

}  // namespace

double Bits::mean_of(int64_t begin, int64_t end) const {
  const auto first = by_position.begin();
  return std::accumulate(first + begin, first + end, 0.0) / static_cast<double>(end - begin);
}

double unigram_bits(const Tokens& train, const Tokens& test, int64_t vocab_size) {
  std::vector<double> counts(std::max<int64_t>(vocab_size, 256), 0), test_counts = counts;
  std::fill_n(counts.begin(), vocab_size, 1.0);
  for (int64_t i = 0; i < train.size; ++i) ++counts[train.data[i]];
  for (int64_t i = 0; i < test.size; ++i) ++test_counts[test.data[i]];
  const double total = static_cast<double>(train.size + vocab_size);
  double bits = 0;
  for (int64_t v = 0; v < vocab_size; ++v) bits -= test_counts[v] * std::log2(counts[v] / total);
  return bits / static_cast<double>(test.size);
}

Evaluation evaluate(const Models& models, const Dataset& dataset, const EvaluationConfig& config) {
  const NoGrad no_graph;
  const KeepWeightsPacked same_weights_every_step;
  const Windows all =
      fixed_windows(dataset.test, config.context + config.length - 1, config.windows);
  Evaluation result;
  result.windows = all.x.size(0);
  result.unigram = unigram_bits(dataset.train, dataset.test, models.config.rnn.vocab_size);
  result.rnn.by_position.resize(config.length);
  if (models.teacher) {
    result.teacher.emplace().by_position.resize(config.length);
    result.drift.resize(config.length);
  }
  for (int64_t begin = 0; begin < result.windows; begin += config.batch) {
    const int64_t count = std::min(config.batch, result.windows - begin);
    const double share = static_cast<double>(count) / static_cast<double>(result.windows);
    const Windows part{all.x.view_rows(begin, count), all.y.view_rows(begin, count)};
    add_reading(models, {part, config.context, share}, result);
  }
  return result;
}

}  // namespace loopless
