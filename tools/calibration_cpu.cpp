#include "tools/calibration.h"

#include <immintrin.h>

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {
namespace {

/// Two units start a multiply-add each cycle and take four for it, so eight chains keep them busy;
/// twelve leave room, and fit the 16 registers of AVX2.
constexpr int kChains = 12;

}  // namespace

// Map      One thread each; lanes and chains are independent.
// Memory   None: all chains stay in registers.
// Numerics x tends to b / (1 - a): no overflow, no denormals.
// Needs    0 < a < 1.
void multiply_add_cpu(const MultiplyAdd& args) {
#pragma omp parallel for schedule(static)
  for (int64_t thread = 0; thread < args.threads; ++thread) {
    const Vec a = spread(args.a), b = spread(args.b);
    Vec x[kChains];
    for (int i = 0; i < kChains; ++i) x[i] = spread(static_cast<float>(i));
    for (int64_t round = 0; round < args.rounds; ++round) {
      for (int i = 0; i < kChains; ++i) x[i] = x[i] * a + b;
    }
    Vec sum = x[0];
    for (int i = 1; i < kChains; ++i) sum += x[i];
    args.results[thread] = sum_of(sum);
  }
  *args.flop = 2.0 * kChains * kLanes * static_cast<double>(args.rounds * args.threads);
}

// Map      Blocks of kStreamBlock elements split over the threads.
// Memory   Per element of f32: reads 4 bytes, writes 4.
// Numerics Exact.
// Needs    As said in the header.
void stream_copy_cpu(const StreamCopy& args) {
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t begin = 0; begin < args.count; begin += kStreamBlock) {
      for (int64_t i = begin; i < begin + kStreamBlock; i += 8) {
        _mm256_stream_ps(args.to + i, _mm256_loadu_ps(args.from + i));
      }
    }
    _mm_sfence();  // each thread's own stores: they are not ordered otherwise
  }
}

}  // namespace loopless::LOOPLESS_ISA
