/// Initial values of parameters: each tensor draws from a stream of its own.
#pragma once

#include <cstdint>

#include "tensor/philox.h"
#include "tensor/tensor.h"

namespace loopless {

class Initializer {
 public:
  explicit Initializer(uint64_t seed) : seed_(seed) {}

  /// Uniform in +-1/sqrt(fan_in): weights and biases of linear layers.
  Tensor linear(const Shape& shape, int64_t fan_in);
  /// Standard normal: embeddings and register tokens.
  Tensor normal(const Shape& shape);
  /// The g of norms, whose gain is 1 + g.
  Tensor zeros(const Shape& shape) { return Tensor::zeros(shape); }

 private:
  uint64_t seed_;
  uint64_t next_stream_ = 1ull << 32;  // far from the streams of data and sampling
};

}  // namespace loopless
