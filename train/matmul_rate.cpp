#include "train/matmul_rate.h"

#include <algorithm>
#include <chrono>

#include "ops/linear/matmul.h"
#include "tensor/tensor.h"

namespace loopless {
namespace {

constexpr int kTries = 4;

double best_rate(int64_t m, int64_t n, int64_t k) {
  const Tensor a = Tensor::full({m, k}, 1.0f);
  const Tensor b = Tensor::full({k, n}, 1.0f);
  const Tensor c = Tensor::empty({m, n});
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    matmul({.m = m, .n = n, .k = k, .a = a.data(), .b = b.data(), .c = c.data()});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * static_cast<double>(m * n * k) / seconds.count());
  }
  return best;
}

}  // namespace

double matmul_rate() { return std::max(best_rate(2176, 1536, 256), best_rate(1024, 1024, 1024)); }

}  // namespace loopless
