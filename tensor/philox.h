/// Random numbers that depend on (seed, stream, index) alone: Philox 4x32-10.
///
/// There is no state to save: the n-th number of a stream is computed when it is asked for, in any
/// order and on any device. Streams keep purposes apart (initial values, batches of a step, ...).
///
/// Source   Salmon, Moraes, Dror & Shaw 2011, "Parallel Random Numbers: As Easy as 1, 2, 3".
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace loopless {

/// Ten rounds of Philox 4x32: a bijection of the counter for each key.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// One stream of numbers, accessed by index. Each kind of number counts its own indices, and all
/// kinds read the same bits: use one kind a stream.
class Philox {
 public:
  Philox(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  uint32_t bits(uint64_t index) const;
  /// A multiple of 2^-24 in [0, 1).
  float uniform(uint64_t index) const;
  /// An integer in [0, n). Made of 64 bits, so no value is likelier than another by more than
  /// n / 2^64. Throws Error unless n > 0.
  int64_t below(uint64_t index, int64_t n) const;
  /// Standard normal, by Box and Muller; indices 2k and 2k + 1 are the cosine and the sine of one
  /// pair. Computed in double and rounded once; at most 6.7 in magnitude.
  float normal(uint64_t index) const;

 private:
  std::array<uint32_t, 4> block(uint64_t number) const;

  uint64_t seed_;
  uint64_t stream_;
};

/// Element i becomes lo + (hi - lo) uniform(i).
void fill_uniform(const Tensor& x, const Philox& random, float lo, float hi);
/// Element i becomes mean + std normal(i).
void fill_normal(const Tensor& x, const Philox& random, float mean, float std);

/// `count` different numbers of 0 .. population - 1, in random order; every selection and every
/// order is equally likely. Throws Error unless 0 <= count <= population < 2^31.
std::vector<int32_t> sample_without_replacement(const Philox& random, int64_t population,
                                                int64_t count);

}  // namespace loopless
