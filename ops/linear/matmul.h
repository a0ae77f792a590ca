/// C = op(A) op(B): the one matrix product under all linear layers.
///
///   c[i,j] = sum_p A(i,p) B(p,j)  (+ bias[j])  (+ c[i,j] if accumulate)
///   A(i,p) = a[i*lda + p], or a[p*lda + i] if transpose_a
///   B(p,j) = b[p*ldb + j], or b[j*ldb + p] if transpose_b
///
/// Shapes   op(A) [m, k], op(B) [k, n], C [m, n], bias [n]; any of m, n, k may be 0 (an empty sum
///          is 0). C overlaps neither A nor B.
/// Types    f32.
/// Saves    nothing.
/// Throws   Error if a size is negative, a leading dimension is shorter than its row, or packed_b
///          is not [k, n].
/// Numerics our own kernel: a sum over p is one chain of fused multiply-adds for each 384
///          (AVX-512: 256) terms at most, the chains added in order. An element of C depends on its
///          row of A, its column of B and k alone: not on the number of threads, and not on how
///          many other rows or columns there are. oneDNN promises none of this: the same bytes
///          for the same sizes, on one machine at one number of threads.
/// Source   Goto & van de Geijn 2008, "Anatomy of high-performance matrix multiplication"; the
///          panels and register tiles as in Van Zee & van de Geijn 2015, "BLIS".
#pragma once

#include <cstdint>

#include "tensor/isa.h"
#include "tensor/storage.h"

namespace loopless {

class PackedMatrix;

struct Matmul {
  int64_t m, n, k;
  const float* a;
  bool transpose_a = false;  // a holds [k, m]
  const float* b;
  bool transpose_b = false;  // b holds [n, k]: a weight, as y = x W^T needs it
  float* c;
  const float* bias = nullptr;             // [n], added to every row
  bool accumulate = false;                 // add to what c holds
  int64_t lda = 0, ldb = 0, ldc = 0;       // floats from one stored row to the next; 0: packed
  const PackedMatrix* packed_b = nullptr;  // op(B), prepared; b is then not read
};

/// By oneDNN with AVX-512, by our own kernel without, and wherever packed_b is given; matmul.cpp
/// says why.
void matmul(const Matmul& args);
/// Whether products without packed_b are oneDNN's.
bool matmul_uses_onednn();

/// The product by our own kernel, for sizes that `matmul` accepts; its sibling is `matmul_onednn`.
void matmul_own(const Matmul& args);

/// op(B) of many products, rearranged once into the order in which a product reads it. Worth it
/// for products of few rows: with 34 of them the rearranging takes a fifth of the time. A copy: it
/// does not follow later changes of b.
class PackedMatrix {
 public:
  /// The right-hand side that a Matmul with these n, k, b, transpose_b and ldb has.
  PackedMatrix(int64_t n, int64_t k, const float* b, bool transpose_b, int64_t ldb = 0);

  int64_t n() const { return n_; }
  int64_t k() const { return k_; }
  const float* panels() const { return reinterpret_cast<const float*>(storage_.data()); }

 private:
  int64_t n_, k_;
  Storage storage_;
};

/// Element (r, c) at data[r*row_stride + c*column_stride]; one of the strides is 1.
struct StridedMatrix {
  const float* data;
  int64_t row_stride, column_stride;
};
/// A stored matrix, or its transpose, as a [rows, columns] operand. ld = 0: stored rows are
/// packed.
StridedMatrix strided(const float* data, int64_t rows, int64_t columns, bool transpose, int64_t ld);

/// Writes all of B [k, n] to `panels`, in the order that a product of depth k reads.
struct PackMatrix {
  StridedMatrix b;
  int64_t n, k;
  float* panels;  // [k, n rounded up to kPanelColumns]
};
CPU_KERNEL(pack_matrix_cpu, PackMatrix);

struct MatmulKernel {
  StridedMatrix a, b;
  float* c;
  int64_t ldc;
  const float* bias;  // or null
  int64_t m, n, k;
  bool accumulate;
  const float* b_packed;  // what PackMatrix wrote, or null: then b is packed on the way
  float* b_scratch;       // [kMaxDepth, n rounded up to kPanelColumns], unless b_packed
  float* a_scratch;       // [kMaxDepth, m rounded up to kPanelRows], if a.column_stride != 1
};
CPU_KERNEL(matmul_cpu, MatmulKernel);

// Multiples of what either instruction set needs.
constexpr int64_t kMaxDepth = 384, kPanelColumns = 32, kPanelRows = 12;

}  // namespace loopless
