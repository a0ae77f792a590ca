#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// y = gelu(x): the Gaussian error linear unit, in its exact form.
///
///   Phi(x) = (1 + erf(x / sqrt(2))) / 2          the normal distribution function
///   y      = x Phi(x)
///   dx     = dy (Phi(x) + x exp(-x^2 / 2) / sqrt(2 pi))
///
/// Shapes   x of any shape -> y of the same.
/// Types    x, y: f32.
/// Saves    x.
/// Throws   Error if x is not f32.
/// Numerics erf with absolute error below 1e-7 (ops/simd.h), hence y within |x| / 2 times that;
///          the same for any number of threads. gelu(-inf) is NaN, as x Phi(x) says.
/// Source   Hendrycks & Gimpel 2016, arXiv:1606.08415, section 2.
Tensor gelu(const Tensor& x);

struct GeluForward {
  const float* x;  // [count]
  float* y;        // [count]
  int64_t count;
};
CPU_KERNEL(gelu_forward_cpu, GeluForward);

struct GeluBackward {
  const float* x;   // [count]
  const float* dy;  // [count]
  float* dx;        // [count]
  bool accumulate;
  int64_t count;
};
CPU_KERNEL(gelu_backward_cpu, GeluBackward);

}  // namespace loopless
