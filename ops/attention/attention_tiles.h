/// What both attention kernels are made of: products of small matrices in registers, and softmax
/// over transposed scores. Included by kernel files only.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "ops/attention/attention.h"
#include "ops/simd.h"

namespace loopless::LOOPLESS_ISA {

// The sums of a product that are held in registers: rows x vectors. 24 of 32 registers, or 12 of
// 16, so that a row of b and an element of a fit beside them.
#ifdef __AVX512F__
constexpr int kScoreRows = 8, kScoreVectors = 3;  // a block of 48 queries is 3 vectors
constexpr int kHeadRows = 6, kHeadVectors = 4;    // a head of 64 is 4 vectors
#else
constexpr int kScoreRows = 4, kScoreVectors = 3;  // 6 vectors
constexpr int kHeadRows = 6, kHeadVectors = 2;    // 8 vectors
#endif

inline int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// Rows of floats, `stride` apart.
struct Rows {
  const float* data;
  int64_t stride;
};

/// c[i,j] = sum_k a(i,k) b[k,j], or added to c. Rows of b are read in whole vectors: beyond
/// `columns` they may hold anything.
struct Product {
  const float* a;  // a(i,k) = a[i * a_row + k * a_column]
  int64_t a_row, a_column;
  Rows b;
  float* c;
  int64_t c_stride;
  int64_t rows, columns, depth;
  bool accumulate = false;
};

/// Copies or adds the leading `columns` of each row of a tile to c.
inline void store_edge(const float* tile, int64_t tile_stride, int64_t columns, const Product& p,
                       float* c, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    const float* from = tile + i * tile_stride;
    float* to = c + i * p.c_stride;
    for (int64_t j = 0; j < columns; ++j) to[j] = p.accumulate ? to[j] + from[j] : from[j];
  }
}

/// M rows and N vectors of c, from row i and column j on. The loops over them are unrolled by
/// order: left to the compiler, it happens too late for the sums to stay in registers.
template <int M, int N>
inline void multiply_tile(const Product& p, int64_t i, int64_t j) {
  const float *a = p.a + i * p.a_row, *b = p.b.data + j;
  float* c = p.c + i * p.c_stride + j;
  // c's rows lie far apart: called for now, they are there when the sums are ready.
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) __builtin_prefetch(c + m * p.c_stride, 1);
  Vec sum[M][N];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) sum[m][n] = Vec{};
  }
  for (int64_t k = 0; k < p.depth; ++k) {
    Vec row[N];
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) row[n] = load(b + n * kLanes);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      const float factor = a[m * p.a_row];
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n) sum[m][n] += row[n] * factor;
    }
    a += p.a_column;
    b += p.b.stride;
  }

  const int64_t columns = p.columns - j;
  if (columns < N * kLanes) {
    float tile[M][N * kLanes];
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n) store(tile[m] + n * kLanes, sum[m][n]);
    }
    store_edge(tile[0], N * kLanes, columns, p, c, M);
  } else {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n) {
        float* to = c + m * p.c_stride + n * kLanes;
        store(to, p.accumulate ? load(to) + sum[m][n] : sum[m][n]);
      }
    }
  }
}

/// The tile of `rows` <= M rows and `vectors` vectors, or N where there are more.
template <int M, int N>
inline void multiply_tile(const Product& p, int64_t i, int64_t j, int64_t rows, int64_t vectors) {
  if constexpr (M > 1) {
    if (rows < M) return multiply_tile<M - 1, N>(p, i, j, rows, vectors);
  }
  if constexpr (N > 1) {
    if (vectors < N) return multiply_tile<M, N - 1>(p, i, j, rows, vectors);
  }
  multiply_tile<M, N>(p, i, j);
}

/// Rows are shared out evenly among the tiles: 9 are 5 + 4, since a tile of few rows waits for its
/// own sums.
template <int M, int N>
void multiply(const Product& p) {
  const int64_t tiles = (p.rows + M - 1) / M, vectors = round_up(p.columns, kLanes) / kLanes;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t i = tile * p.rows / tiles, rows = (tile + 1) * p.rows / tiles - i;
    for (int64_t n = 0; n < vectors; n += N) {
      multiply_tile<M, N>(p, i, n * kLanes, rows, vectors - n);
    }
  }
}

/// Products with lanes over the head: outputs, and the gradients of q, k and v.
inline void multiply_heads(const Product& p) { multiply<kHeadRows, kHeadVectors>(p); }
/// Products with lanes over queries: scores and their gradients. Few queries are not a multiple of
/// kScoreVectors: 2 vectors are better off with the other tiles.
inline void multiply_queries(const Product& p) {
  if (p.columns % (kScoreVectors * kLanes) == 0) {
    multiply<kScoreRows, kScoreVectors>(p);
  } else {
    multiply<kHeadRows, kHeadVectors>(p);
  }
}

/// Eight floats in one register, for transposing; the same under both instruction sets.
typedef float Octet __attribute__((vector_size(32)));
typedef float UnalignedOctet __attribute__((vector_size(32), aligned(4)));

/// to[c][r] = from[r][c] for r < rows, 0 for the other r < 8; c < 8.
inline void transpose_octets(Rows from, int64_t rows, float* to, int64_t to_stride) {
  Octet r[8], pairs[8], quads[8];
  for (int i = 0; i < 8; ++i) {
    r[i] =
        i < rows ? *reinterpret_cast<const UnalignedOctet*>(from.data + i * from.stride) : Octet{};
  }
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int k = 0; k < 2; ++k) {
      const Octet a = pairs[i + k], b = pairs[i + k + 2];
      quads[i + 2 * k] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      quads[i + 2 * k + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    const Octet a = quads[i], b = quads[i + 4];
    *reinterpret_cast<UnalignedOctet*>(to + i * to_stride) =
        __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    *reinterpret_cast<UnalignedOctet*>(to + (i + 4) * to_stride) =
        __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/// to[c][r] = from[r][c]; lanes from `rows` up to the next whole vector become 0.
inline void transpose(Rows from, int64_t rows, int64_t columns, float* to, int64_t to_stride) {
  const int64_t lanes = round_up(rows, kLanes), whole = columns / 8 * 8;
  for (int64_t r = 0; r < lanes; r += 8) {
    const float* row = from.data + r * from.stride;
    for (int64_t c = 0; c < whole; c += 8) {
      transpose_octets({row + c, from.stride}, rows - r, to + c * to_stride + r, to_stride);
    }
    for (int64_t c = whole; c < columns; ++c) {
      for (int64_t i = 0; i < 8; ++i) {
        to[c * to_stride + r + i] = r + i < rows ? row[i * from.stride + c] : 0.0f;
      }
    }
  }
}

/// Whether a head's rows are copied to where they lie close together. As they are, they lie a
/// token apart, often a multiple of 2 KB, and so fall into a few sets of the cache: reading them
/// for one block of queries after the other costs more than the copy. And a head that is no whole
/// number of vectors needs zeros behind its rows.
inline bool must_pack(const AttentionShape& shape) {
  return shape.queries > kAttentionBlock || shape.head_size % kLanes != 0;
}

/// The same rows, copied to `to` if they must be: [rows, padded head_size].
inline Rows packed(const AttentionShape& shape, Rows from, int64_t rows, float* to) {
  if (!must_pack(shape)) return from;
  constexpr int64_t kAhead = 8;  // rows: so far apart, the processor does not foresee them
  const int64_t columns = shape.head_size, stride = round_up(columns, kAttentionPad);
  const int64_t whole = columns / kLanes * kLanes;
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = from.data + r * from.stride;
    const float* ahead = from.data + min_of(r + kAhead, rows - 1) * from.stride;
    float* target = to + r * stride;
    for (int64_t c = 0; c < whole; c += kLanes) {
      __builtin_prefetch(ahead + c);
      store(target + c, load(row + c));
    }
    for (int64_t c = whole; c < stride; ++c) target[c] = c < columns ? row[c] : 0.0f;
  }
  return {to, stride};
}

/// x = 2^(x * factor) for N vectors; relative error below 1.5e-7 for x * factor <= 1; 0 below
/// 2^-125; NaN stays NaN.
///
/// x * factor = n + f with |f| <= 1/2; 2^f by a polynomial fitted at Chebyshev points (relative
/// error 3e-9), and n added to its exponent: adding kRound leaves n in the low bits. The vectors
/// go through each step side by side, because one alone would wait for its own results.
template <int N>
inline void exp2_scaled(Vec (&x)[N], Vec factor) {
  typedef uint32_t Bits __attribute__((vector_size(sizeof(Vec))));
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
  constexpr float kPolynomial[] = {1.34004282e-3f, 9.61805668e-3f, 5.55032723e-2f,
                                   2.40226509e-1f, 6.93147207e-1f, 1.0f};
  Vec n[N], f[N], p[N];
  for (int i = 0; i < N; ++i) x[i] *= factor;
  for (int i = 0; i < N; ++i) n[i] = x[i] + kRound;
  for (int i = 0; i < N; ++i) f[i] = x[i] - (n[i] - kRound);
  for (int i = 0; i < N; ++i) p[i] = spread(1.54614447e-4f);
  for (const float coefficient : kPolynomial) {
    for (int i = 0; i < N; ++i) p[i] = p[i] * f[i] + coefficient;
  }
  for (int i = 0; i < N; ++i) {
    const Bits y = reinterpret_cast<Bits>(p[i]) + (reinterpret_cast<Bits>(n[i]) << 23);
    x[i] = x[i] < -125.0f ? Vec{} : reinterpret_cast<Vec>(y);
  }
}

constexpr int64_t kSerialBelow = 1 << 16;  // multiply-adds; less is done before threads wake up

/// A head of the batch: its row b, its number h, its keys and values.
struct Head {
  int64_t b, h;
  Rows k, v;
};

/// One block of queries of one head.
struct Block {
  int64_t begin, rows;  // queries
  int64_t keys;         // that it sees
  int64_t stride;       // floats in a row of its transposed scores
};

inline int64_t block_count(const AttentionShape& shape) {
  return (shape.queries + kAttentionBlock - 1) / kAttentionBlock;
}

inline Block block_at(const AttentionShape& shape, int64_t index) {
  const int64_t begin = index * kAttentionBlock;
  const int64_t rows = min_of(shape.queries - begin, kAttentionBlock);
  // A causal block sees no key beyond its last query: those are skipped.
  const int64_t keys =
      shape.is_causal ? min_of(shape.keys, shape.first_query + begin + rows) : shape.keys;
  return {begin, rows, keys, round_up(rows, kAttentionPad)};
}

/// Row of the block's first query in [batch, heads, queries].
inline int64_t first_row(const AttentionShape& shape, const Head& head, const Block& block) {
  return (head.b * shape.heads + head.h) * shape.queries + block.begin;
}

/// Where the block's probabilities start among those of the call.
inline int64_t probability_offset(const AttentionShape& shape, const Head& head,
                                  const Block& block) {
  const int64_t queries = round_up(shape.queries, kAttentionPad);
  return ((head.b * shape.heads + head.h) * queries + block.begin) * shape.keys;
}

/// out[j,i] = sum_c keys[j,c] queries[i,c], the products of all pairs of rows, transposed.
/// `transposed` is scratch: [head_size, kAttentionBlock].
inline void multiply_pairs(const AttentionShape& shape, const Block& block, Rows queries, Rows keys,
                           float* transposed, float* out) {
  transpose(queries, block.rows, shape.head_size, transposed, block.stride);
  multiply_queries({.a = keys.data,
                    .a_row = keys.stride,
                    .a_column = 1,
                    .b = {transposed, block.stride},
                    .c = out,
                    .c_stride = block.stride,
                    .rows = block.keys,
                    .columns = round_up(block.rows, kLanes),
                    .depth = shape.head_size});
}

/// Scores of hidden keys become -inf. `mask` is [batch, keys] or null.
inline void hide_keys(const AttentionShape& shape, const Head& head, const Block& block,
                      const uint8_t* mask, float* scores) {
  const int64_t position = shape.first_query + block.begin;  // of lane 0
  const int64_t first = mask ? 0 : shape.is_causal ? position + 1 : block.keys;
  if (mask) mask += head.b * shape.keys;
  for (int64_t j = first; j < block.keys; ++j) {
    int64_t hidden = 0;  // lanes
    if (shape.is_causal) hidden = max_of(0, min_of(j - position, block.stride));
    if (mask && !mask[j]) hidden = block.stride;
    for (int64_t i = 0; i < hidden; ++i) scores[j * block.stride + i] = -__builtin_inff();
  }
}

/// What scores are multiplied by before 2^x: log2(e) / sqrt(D).
inline Vec score_factor(const AttentionShape& shape) {
  return spread(1.44269504f / sqrtf(static_cast<float>(shape.head_size)));
}

/// Calls f.operator()<2>(lane) for pairs of vectors that cover `rows` lanes, and <1> for what is
/// left.
template <class Function>
inline void for_each_pair(int64_t rows, const Function& f) {
  const int64_t end = round_up(rows, kLanes);
  int64_t lane = 0;
  for (; lane + 2 * kLanes <= end; lane += 2 * kLanes) f.template operator()<2>(lane);
  if (lane < end) f.template operator()<1>(lane);
}

}  // namespace loopless::LOOPLESS_ISA
