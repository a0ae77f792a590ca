#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// y = add(a, b): the sum, element by element.
///
///   y  = a + b
///   da = dy,  db = dy
///
/// Shapes   a and b of one shape -> y of the same.
/// Types    a, b, y: f32.
/// Saves    nothing.
/// Throws   Error if shapes or types differ.
/// Numerics one rounding; the gradients are dy itself, handed on without a copy.
/// Source   elementary.
Tensor add(const Tensor& a, const Tensor& b);

struct AddForward {
  const float* a;  // [count]
  const float* b;  // [count]
  float* y;        // [count]
  int64_t count;
};
CPU_KERNEL(add_forward_cpu, AddForward);

}  // namespace loopless
