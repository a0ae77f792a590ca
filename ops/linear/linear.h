#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

/// y = linear(x, weight, bias): an affine map of each row of x.
///
///   y[r,o]       = sum_i x[r,i] weight[o,i] + bias[o]
///   dx[r,i]      = sum_o dy[r,o] weight[o,i]
///   dweight[o,i] = sum_r dy[r,o] x[r,i]
///   dbias[o]     = sum_r dy[r,o]
///
/// Shapes   x [..., I], weight [O, I], bias [O] or undefined (no bias) -> y [..., O]; rows R =
///          product of the leading dims; R, I or O = 0 is legal.
/// Types    x, weight, bias, y: f32.
/// Saves    x if weight needs a gradient, weight if x does.
/// Throws   Error if a shape does not fit or a type differs.
/// Numerics products as in ops/linear/matmul.h: by our own kernel they are the same for any number
///          of threads, and a row of y does not depend on the others; by oneDNN (AVX-512) neither
///          is promised. dbias from one f32 sum for each of 64 blocks of rows, for any number of
///          threads.
/// Source   none: the affine map; weight as rows of outputs, the layout of published weights.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// While one lives, `linear` on this thread, forward and backward, rearranges each weight it meets
/// once (PackedMatrix) and reuses that. For loops that call the same layers many times on few
/// rows. The weights must not be written meanwhile. Inside another one it does nothing. Products
/// with a packed weight are always our own kernel's.
class KeepWeightsPacked {
 public:
  KeepWeightsPacked();
  ~KeepWeightsPacked();
  KeepWeightsPacked(const KeepWeightsPacked&) = delete;
  KeepWeightsPacked& operator=(const KeepWeightsPacked&) = delete;

 private:
  bool is_outermost_;
};

/// The rows are cut into this many blocks, each with its own partial sum: a constant, so that the
/// order of the additions does not depend on the number of threads.
inline constexpr int64_t kColumnSumBlocks = 64;

struct ColumnSum {
  const float* x;  // [rows, columns]
  float* sum;      // [columns]
  float* partial;  // scratch [kColumnSumBlocks, columns]
  int64_t rows, columns;
  bool accumulate;  // add to `sum`
};
CPU_KERNEL(column_sum_cpu, ColumnSum);

}  // namespace loopless
