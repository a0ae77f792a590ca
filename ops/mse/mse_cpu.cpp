#include "ops/mse/mse.h"

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {
namespace {

constexpr int64_t kSerialBelow = 32768;  // elements; a fork costs as much as so many

double sum_of_squares(const float* a, const float* b, int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    const double difference = a[i] - b[i];
    sum += difference * difference;
  }
  return sum;
}

}  // namespace

// Map      One partial sum a block of kMseBlock elements, blocks shared among the threads.
// Memory   Reads 8 bytes an element. Bandwidth-bound.
// Numerics f32 differences, f64 sums in lanes; partial sums added by one thread in index order.
// Needs    Nothing; y = 0 for count 0.
void mse_forward_cpu(const MseForward& args) {
  const int64_t blocks = (args.count + kMseBlock - 1) / kMseBlock;
#pragma omp parallel for schedule(static) if (args.count >= kSerialBelow)
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = block * kMseBlock;
    args.partial[block] =
        sum_of_squares(args.a + begin, args.b + begin, min_of(kMseBlock, args.count - begin));
  }
  double sum = 0;
  for (int64_t block = 0; block < blocks; ++block) sum += args.partial[block];
  *args.y = args.count > 0 ? static_cast<float>(sum / static_cast<double>(args.count)) : 0.0f;
}

// Map      Blocks of kMseBlock elements shared among the threads: lanes and tails fall on the same
//          elements whatever the number of threads.
// Memory   Reads 8 bytes an element, writes 4 (reads them too when accumulating). Bandwidth-bound.
// Numerics f32; the factor 2 dy / N in f64, rounded once.
// Needs    Nothing.
void mse_backward_cpu(const MseBackward& args) {
  const double count = static_cast<double>(max_of(args.count, int64_t{1}));
  const float scale = static_cast<float>(2.0 * *args.dy / count);
#pragma omp parallel for schedule(static) if (args.count >= kSerialBelow)
  for (int64_t begin = 0; begin < args.count; begin += kMseBlock) {
    const float *a = args.a, *b = args.b;
    float* da = args.da;
    const int64_t end = min_of(begin + kMseBlock, args.count);
    if (args.accumulate) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) da[i] += scale * (a[i] - b[i]);
    } else {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) da[i] = scale * (a[i] - b[i]);
    }
  }
}

}  // namespace loopless::LOOPLESS_ISA
