#include "tools/calibration.h"

#include <algorithm>
#include <chrono>
#include <omp.h>
#include <vector>

#include "ops/linear/matmul.h"

namespace loopless {
namespace {

constexpr int64_t kSquare = 2048;
constexpr int64_t kRows = 2176, kColumns = 1536, kDepth = 256;  // q, k, v of 8 sequences
constexpr int64_t kCopied = 4096 * kStreamBlock;                // 64 MiB: larger than the caches
constexpr int64_t kRounds = 1'000'000;                          // of multiply-adds: 2 ms

/// Seconds that f takes, the best of `tries`.
template <class F>
double best_seconds(int tries, const F& f) {
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = i == 0 ? seconds.count() : std::min(best, seconds.count());
  }
  return best;
}

double peak_rate() {
  std::vector<float> results(omp_get_max_threads());
  double flop = 0;
  const MultiplyAdd args{0.5f,           1.0f, kRounds, static_cast<int64_t>(results.size()),
                         results.data(), &flop};
  const double seconds = best_seconds(3, [&] { multiply_add_cpu(args); });
  return flop / seconds;
}

/// y = x W^T, as linear layers have it: x [m, k], W [n, k].
double product_rate(const Tensor& x, const Tensor& weight, const Tensor& y, int tries) {
  const Matmul args{.m = x.size(0),
                    .n = weight.size(0),
                    .k = x.size(1),
                    .a = x.data(),
                    .b = weight.data(),
                    .transpose_b = true,
                    .c = y.data()};
  const double flop = 2.0 * static_cast<double>(args.m * args.n * args.k);
  return flop / best_seconds(tries, [&] { matmul(args); });
}

}  // namespace

Calibration::Calibration()
    : square_a_(Tensor::full({kSquare, kSquare}, 1.0f)),
      square_b_(Tensor::full({kSquare, kSquare}, 1.0f)),
      square_c_(Tensor::zeros({kSquare, kSquare})),
      rows_(Tensor::full({kRows, kDepth}, 1.0f)),
      weight_(Tensor::full({kColumns, kDepth}, 1.0f)),
      product_(Tensor::zeros({kRows, kColumns})),
      from_(Tensor::zeros({kCopied})),
      to_(Tensor::zeros({kCopied})) {}

void Calibration::measure_matmul(Rates& rates) const {
  rates.peak = std::max(rates.peak, peak_rate());
  rates.matmul = std::max({rates.matmul, product_rate(square_a_, square_b_, square_c_, 1),
                           product_rate(rows_, weight_, product_, 4)});
}

void Calibration::measure_copy(Rates& rates) const {
  const double bytes = 2.0 * static_cast<double>(from_.bytes());
  const StreamCopy args{from_.data(), to_.data(), kCopied};
  rates.copy = std::max(rates.copy, bytes / best_seconds(4, [&] { stream_copy_cpu(args); }));
}

}  // namespace loopless
