#include "ops/linear/matmul.h"

#include <optional>

#include "ops/linear/matmul_onednn.h"
#include "tensor/error.h"

namespace loopless {
namespace {

int64_t round_up(int64_t x, int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }

int64_t float_bytes(int64_t rows, int64_t columns) {
  return rows * columns * static_cast<int64_t>(sizeof(float));
}

void check_operand(const char* name, int64_t rows, int64_t columns, bool transpose, int64_t ld) {
  CHECK(rows >= 0 && columns >= 0, "matmul: ", name, " has a negative size: [", rows, ", ", columns,
        "]");
  const int64_t stored_columns = transpose ? rows : columns;
  CHECK(ld == 0 || ld >= stored_columns, "matmul: rows of ", name, " have ", stored_columns,
        " elements, but start only ", ld, " apart");
}

void check(const Matmul& args) {
  const int64_t m = args.m, n = args.n, k = args.k;
  const PackedMatrix* packed = args.packed_b;
  CHECK(!packed || (packed->n() == n && packed->k() == k), "matmul: packed_b must be [", k, ", ", n,
        "], got [", packed ? packed->k() : 0, ", ", packed ? packed->n() : 0, "]");
  check_operand("A", m, k, args.transpose_a, args.lda);
  check_operand("B", k, n, args.transpose_b, args.ldb);
  check_operand("C", m, n, false, args.ldc);
}

}  // namespace

// oneDNN, where it has a kernel for the instruction set. Without AVX-512 it has none: its matmul
// (2.6 and 3.2), sgemm and inner product (2.6) are then one and the same "gemm:jit". GFLOP/s of
// about 100, on one thread of an EPYC with AVX2, the best of many tries, in the layers of an
// encoder of width 256 with 2176 rows:
//
//             forward   dx        dweight
//   ours      78-88     78-84     75-78
//   oneDNN    76-91     74-85     40-64    40 where rows are 1024 floats apart
//
// Rows a power of two apart fall on one another in the cache; our kernel copies them into panels.
//
// With AVX-512 oneDNN has its own kernels, as good as ours on one thread of a Zen 4 and better on
// two. But a weight that is packed beforehand makes ours the faster one where rows are few. GFLOP/s
// of about 225, on two threads, in the cells of width 64 (288 rows) and 256 (34 rows):
//
//                  288x384x64  288x256x64  34x1536x256  34x1024x256   dweight 384x64x288
//   oneDNN         167         157         148          151           176
//   ours           164         162         185          183           125
//   ours, packed   212         211         221          208
bool matmul_uses_onednn() { return use_avx512(); }

void matmul(const Matmul& args) {
  check(args);
  if (matmul_uses_onednn() && !args.packed_b) return matmul_onednn(args);
  matmul_own(args);
}

StridedMatrix strided(const float* data, int64_t rows, int64_t columns, bool transpose,
                      int64_t ld) {
  if (ld == 0) ld = transpose ? rows : columns;
  return transpose ? StridedMatrix{data, 1, ld} : StridedMatrix{data, ld, 1};
}

void matmul_own(const Matmul& args) {
  const int64_t m = args.m, n = args.n, k = args.k;
  const PackedMatrix* packed = args.packed_b;
  MatmulKernel kernel{};
  kernel.a = strided(args.a, m, k, args.transpose_a, args.lda);
  if (!packed) kernel.b = strided(args.b, k, n, args.transpose_b, args.ldb);
  kernel.c = args.c;
  kernel.ldc = strided(args.c, m, n, false, args.ldc).row_stride;
  kernel.bias = args.bias;
  kernel.m = m, kernel.n = n, kernel.k = k;
  kernel.accumulate = args.accumulate;

  std::optional<Storage> a_scratch, b_scratch;
  if (packed) {
    kernel.b_packed = packed->panels();
  } else {
    b_scratch.emplace(float_bytes(kMaxDepth, round_up(n, kPanelColumns)), kCPU);
    kernel.b_scratch = reinterpret_cast<float*>(b_scratch->data());
  }
  if (args.transpose_a) {
    a_scratch.emplace(float_bytes(kMaxDepth, round_up(m, kPanelRows)), kCPU);
    kernel.a_scratch = reinterpret_cast<float*>(a_scratch->data());
  }
  matmul_cpu(kernel);
}

PackedMatrix::PackedMatrix(int64_t n, int64_t k, const float* b, bool transpose_b, int64_t ldb)
    : n_(n), k_(k), storage_(float_bytes(k, round_up(n, kPanelColumns)), kCPU) {
  check_operand("B", k, n, transpose_b, ldb);
  pack_matrix_cpu(
      {strided(b, k, n, transpose_b, ldb), n, k, reinterpret_cast<float*>(storage_.data())});
}

}  // namespace loopless
