#pragma once

#include "tensor/isa.h"
#include "tensor/tensor.h"

namespace loopless {

struct AdamWState {
  Tensor lr;           // f32 [1]
  Tensor step;         // i32 [1], the number of this step, from 1
  Tensor clip_factor;  // f32 [1]
  Tensor skip;         // i32 [1], 1: leave everything as it is
};

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
};

/// adamw(parameters, grads, m, v, state, options): one optimiser step on a flat slice, in place.
///
///   g = clip_factor grads
///   m = beta1 m + (1 - beta1) g
///   v = beta2 v + (1 - beta2) g^2
///   m_hat = m / (1 - beta1^step),   v_hat = v / (1 - beta2^step)
///   parameters = (1 - lr weight_decay) parameters - lr m_hat / (sqrt(v_hat) + epsilon)
///
/// With skip = 1 nothing is touched (ops/step_guard). What changes from step to step is read from
/// tensors by the kernel: a step waits for no host.
///
/// Gradient none.
///
/// Shapes   parameters, grads, m, v [N]; lr, step, clip_factor, skip [1]; N = 0 is legal.
/// Types    step, skip: i32; all else f32; the coefficients are computed in f64.
/// Saves    nothing.
/// Throws   Error if a shape or type differs, a beta is outside [0, 1), epsilon is not
///          positive, or weight_decay is negative.
/// Numerics error <= 2x the naive f32 loop (against f64); the same for any number of threads, and
///          for slices that start at multiples of kAdamWBlock.
/// Source   Loshchilov & Hutter 2019, arXiv:1711.05101, with the decay as in PyTorch's AdamW.
void adamw(const Tensor& parameters, const Tensor& grads, const Tensor& m, const Tensor& v,
           const AdamWState& state, const AdamWOptions& options);

inline constexpr int64_t kAdamWBlock = 4096;  // elements that one thread takes at a time

struct AdamW {
  float* parameters;         // [count]
  const float* grads;        // [count]
  float* m;                  // [count]
  float* v;                  // [count]
  const float* lr;           // [1]
  const int32_t* step;       // [1]
  const float* clip_factor;  // [1]
  const int32_t* skip;       // [1]
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
  int64_t count;
};
CPU_KERNEL(adamw_cpu, AdamW);

}  // namespace loopless
