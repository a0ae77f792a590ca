/// The engine's only arithmetic: adding one contribution to a gradient.
#pragma once

#include "tensor/isa.h"
#include "tensor/tensor.h"

namespace loopless {

struct Accumulate {
  const float* from;  // [count]
  float* into;        // [count], from is added
  int64_t count;
};
CPU_KERNEL(accumulate_cpu, Accumulate);

/// into += from; both f32 with the same number of elements.
void accumulate_into(const Tensor& into, const Tensor& from);

}  // namespace loopless
