/// What the training loop asks of a method. SMT, DMT and BPTT each are one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/parameters.h"
#include "tensor/tensor.h"
#include "train/data/windows.h"

namespace loopless {

/// Rows [begin, begin + count) of a batch: the piece that one forward and backward work on.
struct Piece {
  int64_t begin = 0;
  int64_t count = 0;
};

/// Where a step's random draws come from: they depend on these numbers alone.
struct DrawKey {
  uint64_t seed = 0;
  int64_t step = 0;
};

/// Loss terms by name, each f32 [1]; the first is "loss", whose gradient is taken. Over the pieces
/// of a batch they add up to the batch's value.
using LossTerms = std::vector<std::pair<std::string, Tensor>>;

class Method {
 public:
  virtual ~Method() = default;

  /// Parameters, in the order and groups in which FlatParameters takes them.
  virtual std::vector<ParameterGroup> groups() = 0;
  /// The loss terms of one piece of a batch. Where recording is on (no NoGrad lives), also adds
  /// the gradient of its share of the batch's loss to the parameters.
  virtual LossTerms run(const Windows& batch, Piece piece, DrawKey draw) = 0;
  /// Tokens of a window (T), and how many of them one step learns from, for rates.
  virtual int64_t window_length() const = 0;
  virtual int64_t tokens_per_window() const = 0;
  /// FLOP of the matrix products of one training step on `batch` windows (train/flops.h).
  virtual double flop_per_step(int64_t batch) const = 0;
  /// Called before weights are saved or tested as a whole.
  virtual void finish_weights() {}
};

}  // namespace loopless
