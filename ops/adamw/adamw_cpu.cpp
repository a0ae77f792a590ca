#include "ops/adamw/adamw.h"

#include <cmath>

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {
namespace {

constexpr int64_t kSerialBelow = 16384;  // elements; a fork costs as much as so many

/// What multiplies each element, computed in f64 once a step.
struct Coefficients {
  explicit Coefficients(const AdamW& args)
      : clip(*args.clip_factor),
        beta1(static_cast<float>(args.beta1)),
        beta2(static_cast<float>(args.beta2)),
        rest1(static_cast<float>(1 - args.beta1)),
        rest2(static_cast<float>(1 - args.beta2)),
        keep(static_cast<float>(1 - *args.lr * args.weight_decay)),
        step_size(static_cast<float>(*args.lr / (1 - pow(args.beta1, double(*args.step))))),
        v_scale(static_cast<float>(1 / sqrt(1 - pow(args.beta2, double(*args.step))))),
        epsilon(static_cast<float>(args.epsilon)) {}

  float clip, beta1, beta2, rest1, rest2;
  float keep;       // 1 - lr * weight_decay
  float step_size;  // lr / (1 - beta1^step)
  float v_scale;    // 1 / sqrt(1 - beta2^step)
  float epsilon;
};

}  // namespace

// Map      Blocks of kAdamWBlock elements shared among threads: lanes and tails fall on the same
//          elements whatever the number of threads.
// Memory   One pass: reads 16 bytes an element, writes 12. Bandwidth-bound.
// Numerics f32, element by element.
// Needs    step >= 1 where skip is 0.
void adamw_cpu(const AdamW& args) {
  if (*args.skip != 0) return;
  const Coefficients k(args);
#pragma omp parallel for schedule(static) if (args.count >= kSerialBelow)
  for (int64_t begin = 0; begin < args.count; begin += kAdamWBlock) {
    const int64_t end = min_of(begin + kAdamWBlock, args.count);
    float *p = args.parameters, *m = args.m, *v = args.v;
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const float g = k.clip * args.grads[i];
      m[i] = k.beta1 * m[i] + k.rest1 * g;
      v[i] = k.beta2 * v[i] + k.rest2 * (g * g);
      p[i] = k.keep * p[i] - k.step_size * m[i] / (sqrtf(v[i]) * k.v_scale + k.epsilon);
    }
  }
}

}  // namespace loopless::LOOPLESS_ISA
