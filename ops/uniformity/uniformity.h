#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// y = uniformity(x, rows): how evenly the directions of rows are spread; lower is more even.
///
///   u[i]   = x[rows[i]] / max(norm[i], 1e-12),   norm[i] = norm2(x[rows[i]])
///   w[i,j] = exp(-2 |u[i] - u[j]|^2),   W = sum_{i<j} w[i,j]
///   y      = log(W / (n (n - 1) / 2))
///   du[i]  = 4 dy / W sum_j w[i,j] (u[j] - u[i])
///   dx[rows[i]] = (du[i] - (du[i] . u[i]) u[i]) / norm[i]
///   dx[rows[i]] = du[i] / 1e-12   where the norm is below that: it is constant there
///
/// Without `rows`, all rows are taken; a row that is not taken receives no gradient.
///
/// Shapes   x [N, C], rows [n] or undefined (then n = N) -> y [1]; n >= 2.
/// Types    x, y: f32; rows: i32; norms and W are summed in f64.
/// Saves    rows, u, 1 / norm, W, and the weights' Laplacian [n, n]: w[i,j], and on the diagonal
///          minus the sum of the row's others. With it, du = 4 dy / W laplacian u.
/// Throws   Error if x has not two dimensions, n < 2, or a row is out of range or given twice.
/// Numerics error <= 2x the naive f32 loop over differences (against f64); equal rows have
///          distance 0 exactly; the same for any number of threads.
/// Source   Wang & Isola 2020, arXiv:2005.10242, uniformity with t = 2.
Tensor uniformity(const Tensor& x, const Tensor& rows = {});

inline constexpr int64_t kUniformityBlock = 16;  // n is padded to a multiple of this

/// u and the matrices are padded, so that the kernels work in whole tiles.
struct UniformityForward {
  const float* x;       // [N, columns]
  const int32_t* rows;  // [n], or null: row i is i
  float* u;             // [padded, stride], zero where padded
  float* inverse_norm;  // [n]
  float* laplacian;     // [padded, padded]
  float* sum;           // [1], W
  float* y;             // [1]
  int64_t n, padded, columns, stride;
};
CPU_KERNEL(uniformity_forward_cpu, UniformityForward);

struct UniformityBackward {
  const int32_t* rows;        // [n], or null: row i is i
  const float* u;             // [padded, stride]
  const float* inverse_norm;  // [n]
  const float* laplacian;     // [padded, padded]
  const float* sum;           // [1]
  const float* dy;            // [1]
  float* pull;                // [padded, stride], laplacian * u, scratch
  float* dx;                  // [N, columns], added to
  int64_t n, padded, columns, stride;
};
CPU_KERNEL(uniformity_backward_cpu, UniformityBackward);

}  // namespace loopless
