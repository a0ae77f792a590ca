#include "ops/global_norm/global_norm.h"

#include <cmath>

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {
namespace {

constexpr int64_t kSerialBelow = 32768;  // elements; a fork costs as much as so many

double sum_of_squares(const float* x, int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

}  // namespace

// Map      One partial sum a block of kGlobalNormBlock elements, blocks shared among the threads.
// Memory   Reads 4 bytes an element. Bandwidth-bound.
// Numerics f64 squares (no f32 overflows them) and sums in lanes; partial sums in index order.
// Needs    max_norm > 0.
void global_norm_cpu(const GlobalNorm& args) {
  const int64_t blocks = (args.count + kGlobalNormBlock - 1) / kGlobalNormBlock;
#pragma omp parallel for schedule(static) if (args.count >= kSerialBelow)
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = block * kGlobalNormBlock;
    args.partial[block] =
        sum_of_squares(args.grads + begin, min_of(kGlobalNormBlock, args.count - begin));
  }
  double sum = 0;
  for (int64_t block = 0; block < blocks; ++block) sum += args.partial[block];
  const double norm = sqrt(sum);
  const double factor = args.max_norm / (norm + 1e-6);
  *args.norm = static_cast<float>(norm);
  *args.clip_factor = factor > 1 ? 1.0f : static_cast<float>(factor);  // NaN stays NaN
}

}  // namespace loopless::LOOPLESS_ISA
