#include "ops/masked_mean/masked_mean.h"

// Every kernel here is one thread's walk in index order: a batch has some ten thousand targets,
// which is less work than waking the other threads.
namespace loopless::LOOPLESS_ISA {

// Map      One loop over all targets.
// Memory   Reads 4 bytes a target.
// Numerics Integer count, rounded to f32 once.
// Needs    Nothing.
void count_valid_cpu(const CountValid& args) {
  int64_t count = 0;
  for (int64_t i = 0; i < args.size; ++i) count += args.targets[i] >= 0;
  *args.count = static_cast<float>(count);
}

// Map      Rows, then positions.
// Memory   Reads 8 bytes a position.
// Numerics f64 weight and sum. Ignored losses are skipped, not multiplied by 0: they may be NaN.
// Needs    count >= 0.
void masked_mean_forward_cpu(const MaskedMeanForward& args) {
  double sum = 0;
  for (int64_t b = 0; b < args.rows; ++b) {
    double weight = 1;  // gamma^j
    for (int64_t j = 0; j < args.columns; ++j) {
      const int64_t i = b * args.columns + j;
      if (args.targets[i] >= 0) sum += weight * args.loss[i];
      weight *= args.gamma;
    }
  }
  const double count = *args.count;
  *args.y = count > 0 ? static_cast<float>(sum / count) : 0.0f;
}

// Map      Rows, then positions.
// Memory   Reads 4 bytes a position, writes 4 (reads them too when accumulating).
// Numerics f64 weight, rounded once.
// Needs    count >= 0.
void masked_mean_backward_cpu(const MaskedMeanBackward& args) {
  const double count = *args.count;
  const double scale = count > 0 ? *args.dy / count : 0.0;
  for (int64_t b = 0; b < args.rows; ++b) {
    double weight = scale;  // scale * gamma^j
    for (int64_t j = 0; j < args.columns; ++j) {
      const int64_t i = b * args.columns + j;
      const float d = args.targets[i] >= 0 ? static_cast<float>(weight) : 0.0f;
      args.dloss[i] = args.accumulate ? args.dloss[i] + d : d;
      weight *= args.gamma;
    }
  }
}

}  // namespace loopless::LOOPLESS_ISA
