#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// What keeps rstd finite where a row is close to zero. At least one of the two is positive.
struct RmsNormOptions {
  float min_norm = 0;  // lower bound of norm2(x[r])
  float epsilon = 0;   // added to the mean of the squares
};
/// Inside a Transformer block: x / max(norm2(x), 1e-12) * sqrt(C).
inline constexpr RmsNormOptions kBlockNorm{.min_norm = 1e-12f};
/// Of a memory: x / sqrt(mean(x^2) + the machine epsilon of f32).
inline constexpr RmsNormOptions kMemoryNorm{.epsilon = 0x1p-23f};

/// y = rms_norm(x, gain): scale each row of x to root-mean-square one, then by 1 + gain.
///
///   floor    = min_norm^2 / C
///   rstd[r]  = 1 / sqrt(max(mean_c(x[r,c]^2), floor) + epsilon)
///   y[r,c]   = x[r,c] rstd[r] (1 + gain[c])
///   dx[r,c]  = rstd[r] (u[r,c] - x[r,c] rstd[r]^2 mean_k(u[r,k] x[r,k])),   u = (1 + gain) dy
///   dx[r,c]  = rstd[r] u[r,c]   where the floor was taken: rstd is constant there
///   dgain[c] = sum_r dy[r,c] x[r,c] rstd[r]
///
/// Shapes   x [..., C], gain [C] or undefined (read as 0) -> y [..., C]; rows R = product of the
///          leading dims; R = 0 is legal.
/// Types    x, gain, y: f32.
/// Saves    x, gain, rstd [R].
/// Throws   Error if C = 0, gain is not [C], a type differs, or min_norm and epsilon are both 0.
/// Numerics error <= 2x the naive f32 loop (against f64); a row whose sum of squares overflows f32
///          becomes 0; the same for any number of threads.
/// Source   Zhang & Sennrich 2019, arXiv:1910.07467, eq. 4; lower bounds as in x-transformers.
Tensor rms_norm(const Tensor& x, const Tensor& gain, const RmsNormOptions& options);

struct RmsNormForward {
  const float* x;     // [rows, columns]
  const float* gain;  // [columns] or null
  float* y;           // [rows, columns]
  float* rstd;        // [rows] or null: not needed
  int64_t rows, columns;
  float floor, epsilon;
};
CPU_KERNEL(rms_norm_forward_cpu, RmsNormForward);

/// The rows are cut into this many blocks, each with its own partial sum of dgain. A constant, so
/// that the order of the additions does not depend on the number of threads; 64 feed 64 cores.
inline constexpr int64_t kRmsNormBlocks = 64;

struct RmsNormBackward {
  const float* x;     // [rows, columns]
  const float* gain;  // [columns] or null
  const float* rstd;  // [rows]
  const float* dy;    // [rows, columns]
  float* dx;          // [rows, columns] or null
  float* dgain;       // [columns] or null
  float* partial;     // scratch [kRmsNormBlocks, columns], null where dgain is
  bool accumulate_dx, accumulate_dgain;
  int64_t rows, columns;
  float floor, epsilon;
};
CPU_KERNEL(rms_norm_backward_cpu, RmsNormBackward);

}  // namespace loopless
