/// The best that this machine does right now: what benchmarks are compared with.
///
/// The speed of a machine drifts (clock, neighbours), so rates are taken again and again between
/// the timed runs of a benchmark, with the threads that are set, and the best one counts.
#pragma once

#include <cstdint>

#include "tensor/isa.h"
#include "tensor/tensor.h"

namespace loopless {

struct Rates {
  double peak = 0;    // FLOP/s: multiply-adds that never leave the registers
  double matmul = 0;  // FLOP/s: the better of the fp32 products 2048^3 and 2176 x 1536 x 256
  double copy = 0;    // bytes/s, read and written bytes both counted: a copy past the caches
};

/// Below this share of the machine's peak, something kept the matrix products from their speed.
inline constexpr double kLowCalibration = 0.8;

class Calibration {
 public:
  /// Takes 220 MB for the operands.
  Calibration();

  /// Each raises the rates that it finds higher. About 0.1 s each.
  void measure_matmul(Rates& rates) const;
  void measure_copy(Rates& rates) const;

 private:
  Tensor square_a_, square_b_, square_c_;  // [2048, 2048]
  Tensor rows_, weight_, product_;         // [2176, 256], [1536, 256], [2176, 1536]
  Tensor from_, to_;
};

/// Runs independent chains of x <- a x + b in registers, on every thread.
struct MultiplyAdd {
  float a, b;
  int64_t rounds;  // of each chain
  int64_t threads;
  float* results;  // [threads], so that the chains cannot be left out
  double* flop;    // [1]: how many were done
};
CPU_KERNEL(multiply_add_cpu, MultiplyAdd);

/// Copies with stores that bypass the caches: no line of `to` is read before it is written.
struct StreamCopy {
  const float* from;  // [count]
  float* to;          // [count]; a multiple of 32 bytes
  int64_t count;      // a multiple of kStreamBlock
};
CPU_KERNEL(stream_copy_cpu, StreamCopy);

inline constexpr int64_t kStreamBlock = 4096;  // elements that one thread takes at a time

}  // namespace loopless
