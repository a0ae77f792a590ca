#include "ops/weighted_sum/weighted_sum.h"

namespace loopless::LOOPLESS_ISA {

// Map      One loop over the terms.
// Memory   Reads 4 bytes a term, writes 4.
// Numerics f64 sum in index order, rounded once.
// Needs    count <= kMaxWeightedTerms.
void weighted_sum_forward_cpu(const WeightedSumForward& args) {
  double sum = 0;
  for (int i = 0; i < args.count; ++i) sum += args.weights[i] * *args.terms[i];
  *args.y = static_cast<float>(sum);
}

// Map      One element.
// Memory   Reads 4 bytes, writes 4 (reads them too when accumulating).
// Numerics f64 product, rounded once.
// Needs    Nothing.
void weighted_sum_backward_cpu(const WeightedSumBackward& args) {
  const float d = static_cast<float>(args.weight * *args.dy);
  *args.dterm = args.accumulate ? *args.dterm + d : d;
}

}  // namespace loopless::LOOPLESS_ISA
