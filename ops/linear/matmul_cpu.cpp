#include "ops/linear/matmul.h"

#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {
namespace {

// The product is made of register tiles of C: kTileRows rows, two vectors wide. All of a tile's
// sums stay in registers while p runs: 6 x 2 of the 16 of AVX2, 12 x 2 of the 32 of AVX-512. The
// others hold two vectors of B and one element of A.
#ifdef __AVX512F__
constexpr int kTileRows = 12;
constexpr int64_t kDepth = 256;  // terms of a sum at a time: a panel of B has 32 KiB
#else
constexpr int kTileRows = 6;
constexpr int64_t kDepth = 384;  // a panel of B has 24 KiB: it stays in the first-level cache
#endif
constexpr int kTileColumns = 2 * kLanes;

// Rows of A that meet all panels of B before the next rows do: 110 KiB, in the second-level cache.
constexpr int64_t kBlockTiles = 72 / kTileRows;

// Multiply-adds below which a product stays on one thread: 1 us, two forks.
constexpr int64_t kSerialBelow = 100000;

/// Terms in one pass over the sum of k: all passes about equal, in multiples of 8, at least 1.
int64_t pass_depth(int64_t k) {
  const int64_t passes = max_of((k + kDepth - 1) / kDepth, int64_t{1});
  return max_of(min_of((k + 8 * passes - 1) / (8 * passes) * 8, k), int64_t{1});
}

int64_t tiles_of(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

typedef float Vec8 __attribute__((vector_size(32)));
typedef float UnalignedVec8 __attribute__((vector_size(32), aligned(4)));

/// to[c*to_stride + r] = from[r*from_stride + c] for 8 x 8 elements: by pairs, fours, halves.
void transpose_8x8(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  Vec8 a[8], b[8];
  for (int r = 0; r < 8; ++r)
    a[r] = *reinterpret_cast<const UnalignedVec8*>(from + r * from_stride);
  for (int r = 0; r < 8; r += 2) {
    b[r] = __builtin_shufflevector(a[r], a[r + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[r + 1] = __builtin_shufflevector(a[r], a[r + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int r = 0; r < 8; r += 4) {
    for (int h = 0; h < 2; ++h) {
      const Vec8 low = b[r + h], high = b[r + h + 2];
      a[r + 2 * h] = __builtin_shufflevector(low, high, 0, 1, 8, 9, 4, 5, 12, 13);
      a[r + 2 * h + 1] = __builtin_shufflevector(low, high, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int c = 0; c < 4; ++c) {
    *reinterpret_cast<UnalignedVec8*>(to + c * to_stride) =
        __builtin_shufflevector(a[c], a[c + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    *reinterpret_cast<UnalignedVec8*>(to + (c + 4) * to_stride) =
        __builtin_shufflevector(a[c], a[c + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/// panel[p][j] = x(p, j) for `depth` rows and kWidth columns, of which `columns` exist; the others
/// become 0. Used for B, and with rows and columns exchanged for a transposed A.
template <int kWidth>
void pack_panel(const StridedMatrix& x, int64_t depth, int64_t columns, float* panel) {
  int64_t p = 0;
  if (columns == kWidth && x.column_stride == 1) {
    for (; p < depth; ++p) {
      __builtin_memcpy(panel + p * kWidth, x.data + p * x.row_stride, kWidth * sizeof(float));
    }
  } else if (columns == kWidth && x.row_stride == 1 && kWidth % 8 == 0) {
    for (; p + 8 <= depth; p += 8) {
      for (int j = 0; j < kWidth; j += 8) {
        transpose_8x8(x.data + p + j * x.column_stride, x.column_stride, panel + p * kWidth + j,
                      kWidth);
      }
    }
  }
  for (; p < depth; ++p) {
    for (int64_t j = 0; j < kWidth; ++j) {
      panel[p * kWidth + j] = j < columns ? x.data[p * x.row_stride + j * x.column_stride] : 0.0f;
    }
  }
}

/// x from element (row, column) on. One without elements may have no address to count from.
StridedMatrix from(const StridedMatrix& x, int64_t row, int64_t column) {
  if (!x.data) return x;
  return {x.data + row * x.row_stride + column * x.column_stride, x.row_stride, x.column_stride};
}

/// One register tile, one pass: c[i,j] = sum_p a[i*a_row + p*a_step] b[p][j] + bias[j] + old c.
struct Tile {
  const float* a;
  int64_t a_row, a_step;
  const float* b;  // a panel
  int64_t depth;
  float* c;
  int64_t ldc;
  const float* bias;  // or null
  bool add;
};

// Unrolled by order, and early, so that the sums are registers; left alone they go through memory.
template <int kRows>
void multiply_tile(const Tile& t) {
  Vec sum[kRows][2] = {};
  const float* a = t.a;
  const float* b = t.b;
  for (int64_t p = 0; p < t.depth; ++p, a += t.a_step, b += kTileColumns) {
    const Vec b0 = load(b), b1 = load(b + kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
      const Vec element = spread(a[i * t.a_row]);
      sum[i][0] += element * b0;
      sum[i][1] += element * b1;
    }
  }
  const Vec bias0 = t.bias ? load(t.bias) : Vec{};
  const Vec bias1 = t.bias ? load(t.bias + kLanes) : Vec{};
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
    float* c = t.c + i * t.ldc;
    const Vec c0 = sum[i][0] + bias0, c1 = sum[i][1] + bias1;
    store(c, t.add ? c0 + load(c) : c0);
    store(c + kLanes, t.add ? c1 + load(c + kLanes) : c1);
  }
}

using TileFunction = void (*)(const Tile&);
#ifdef __AVX512F__
constexpr TileFunction kMultiplyTile[] = {multiply_tile<1>,  multiply_tile<2>,  multiply_tile<3>,
                                          multiply_tile<4>,  multiply_tile<5>,  multiply_tile<6>,
                                          multiply_tile<7>,  multiply_tile<8>,  multiply_tile<9>,
                                          multiply_tile<10>, multiply_tile<11>, multiply_tile<12>};
#else
constexpr TileFunction kMultiplyTile[] = {multiply_tile<1>, multiply_tile<2>, multiply_tile<3>,
                                          multiply_tile<4>, multiply_tile<5>, multiply_tile<6>};
#endif

/// A tile at the right edge, `columns` wide: the whole tile goes to a buffer, its columns to C.
void multiply_edge_tile(const Tile& t, int64_t rows, int64_t columns) {
  float buffer[kTileRows * kTileColumns];
  Tile whole = t;
  whole.c = buffer;
  whole.ldc = kTileColumns;
  whole.bias = nullptr;
  whole.add = false;
  kMultiplyTile[rows - 1](whole);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float& c = t.c[i * t.ldc + j];
      const float sum = buffer[i * kTileColumns + j] + (t.bias ? t.bias[j] : 0.0f);
      c = t.add ? sum + c : sum;
    }
  }
}

/// All panels of x [.., columns], rows first .. first + depth; for threads of a parallel region.
template <int kWidth>
void pack_panels(const StridedMatrix& x, int64_t columns, int64_t first, int64_t depth,
                 float* panels) {
#pragma omp for schedule(static) nowait
  for (int64_t t = 0; t < tiles_of(columns, kWidth); ++t) {
    const int64_t column = t * kWidth;
    pack_panel<kWidth>(from(x, first, column), depth, min_of(columns - column, kWidth),
                       panels + column * depth);
  }
}

/// The tiles of C for one pass: block after block of rows, in it panel after panel of B. A thread
/// gets the same tiles in every pass.
void multiply_pass(const MatmulKernel& args, int64_t first, int64_t depth, const float* b_panels) {
  const int64_t row_tiles = tiles_of(args.m, kTileRows);
  const int64_t blocks = tiles_of(row_tiles, kBlockTiles);
#pragma omp for schedule(static) collapse(2) nowait
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t panel = 0; panel < tiles_of(args.n, kTileColumns); ++panel) {
      const int64_t column = panel * kTileColumns, columns = args.n - column;
      const int64_t end = min_of((block + 1) * kBlockTiles, row_tiles);
      for (int64_t tile = block * kBlockTiles; tile < end; ++tile) {
        const int64_t row = tile * kTileRows, rows = min_of(args.m - row, kTileRows);
        const bool in_place = !args.a_scratch;
        const Tile t{.a = in_place ? from(args.a, row, first).data : args.a_scratch + row * depth,
                     .a_row = in_place ? args.a.row_stride : 1,
                     .a_step = in_place ? 1 : kTileRows,
                     .b = b_panels + column * depth,
                     .depth = depth,
                     .c = args.c + row * args.ldc + column,
                     .ldc = args.ldc,
                     .bias = args.bias && first == 0 ? args.bias + column : nullptr,
                     .add = args.accumulate || first > 0};
        if (columns >= kTileColumns) {
          kMultiplyTile[rows - 1](t);
        } else {
          multiply_edge_tile(t, rows, columns);
        }
      }
    }
  }
}

}  // namespace

void pack_matrix_cpu(const PackMatrix& args) {
  const int64_t depth = pass_depth(args.k);
  const int64_t width = tiles_of(args.n, kTileColumns) * kTileColumns;
#pragma omp parallel if (args.n * args.k >= kSerialBelow)
  for (int64_t first = 0; first < args.k; first += depth) {
    pack_panels<kTileColumns>(args.b, args.n, first, min_of(depth, args.k - first),
                              args.panels + first * width);
  }
}

// Map      C is cut into register tiles; threads share out (block of 72 rows) x (panel of B).
// Memory   B and a transposed A are copied into panels in the order of use, as rows a power of two
//          apart would fall on one another in the cache; A as it stands is read in place.
// Numerics passes over p in order, each element of C by one thread: no thread count in the result.
// Needs    strides as in StridedMatrix.
void matmul_cpu(const MatmulKernel& args) {
  const int64_t depth = pass_depth(args.k);
  const int64_t width = tiles_of(args.n, kTileColumns) * kTileColumns;
  const StridedMatrix a_transposed{args.a.data, args.a.column_stride, args.a.row_stride};
#pragma omp parallel if (args.m * args.n * args.k >= kSerialBelow)
  for (int64_t first = 0; first < args.k || first == 0; first += depth) {
    // The first pass runs even when k = 0: bias and zeros still have to be written.
    const int64_t now = min_of(depth, args.k - first);
    if (!args.b_packed || args.a_scratch) {
      // Panels of the pass before are still being read, then these are being written.
      if (first > 0) {
#pragma omp barrier
      }
      if (!args.b_packed) pack_panels<kTileColumns>(args.b, args.n, first, now, args.b_scratch);
      if (args.a_scratch) pack_panels<kTileRows>(a_transposed, args.m, first, now, args.a_scratch);
#pragma omp barrier
    }
    multiply_pass(args, first, now, args.b_packed ? args.b_packed + first * width : args.b_scratch);
  }
}

}  // namespace loopless::LOOPLESS_ISA
