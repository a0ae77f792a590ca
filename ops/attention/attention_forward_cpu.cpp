#include <omp.h>

#include "ops/attention/attention_tiles.h"

namespace loopless::LOOPLESS_ISA {
namespace {

constexpr int64_t kItemsPerThread = 4;  // enough to even out what the threads have to do

/// Turns the scores of N vectors of queries, from `lane` on, into probabilities. row_max and
/// row_scale: [kAttentionBlock].
template <int N>
void softmax(const Block& block, float* scores, Vec factor, int64_t lane, float* row_max,
             float* row_scale) {
  const int64_t stride = block.stride;
  float* first = scores + lane;
  Vec largest[N], sum[N], scale[N];
  for (int n = 0; n < N; ++n) largest[n] = spread(-__builtin_inff());
  for (int64_t j = 0; j < block.keys; ++j) {
    for (int n = 0; n < N; ++n) {
      const Vec s = load(first + j * stride + n * kLanes);
      largest[n] = s > largest[n] ? s : largest[n];
    }
  }
  for (int n = 0; n < N; ++n) {
    // A query that sees no key: exp(-inf - 0) = 0 for each, where -inf - -inf would be NaN.
    largest[n] = largest[n] == -__builtin_inff() ? Vec{} : largest[n];
    sum[n] = Vec{};
  }
  for (int64_t j = 0; j < block.keys; ++j) {
    float* s = first + j * stride;
    Vec e[N];
    for (int n = 0; n < N; ++n) e[n] = load(s + n * kLanes) - largest[n];
    exp2_scaled(e, factor);
    for (int n = 0; n < N; ++n) {
      sum[n] += e[n];
      store(s + n * kLanes, e[n]);
    }
  }
  for (int n = 0; n < N; ++n) {
    scale[n] = sum[n] == 0.0f ? Vec{} : 1.0f / sum[n];
    store(row_max + lane + n * kLanes, largest[n]);
    store(row_scale + lane + n * kLanes, scale[n]);
  }
  for (int64_t j = 0; j < block.keys; ++j) {
    for (int n = 0; n < N; ++n) {
      float* s = first + j * stride + n * kLanes;
      store(s, load(s) * scale[n]);
    }
  }
}

/// What one thread works with, cut from its part of the scratch.
struct Workspace {
  float *k, *v;         // [keys, padded head_size]
  float* q_transposed;  // [head_size, kAttentionBlock]
  float* scores;        // [keys, kAttentionBlock]
};

Workspace workspace_of(const AttentionForward& args) {
  const int64_t padded = round_up(args.shape.head_size, kAttentionPad), keys = args.shape.keys;
  float* base = args.scratch + omp_get_thread_num() * args.scratch_stride;
  float* q_transposed = base + 2 * keys * padded;
  return {base, base + keys * padded, q_transposed, q_transposed + padded * kAttentionBlock};
}

void attend(const AttentionForward& args, const Head& head, const Block& block,
            const Workspace& space) {
  const AttentionShape& shape = args.shape;
  const int64_t D = shape.head_size, token = head.b * shape.queries + block.begin;
  const Rows q = {args.q + token * args.q_stride + head.h * D, args.q_stride};
  float* p = args.probabilities ? args.probabilities + probability_offset(shape, head, block)
                                : space.scores;

  multiply_pairs(shape, block, q, head.k, space.q_transposed, p);
  hide_keys(shape, head, block, args.key_mask, p);

  float row_max[kAttentionBlock], row_scale[kAttentionBlock];
  const Vec factor = score_factor(shape);
  for_each_pair(block.rows, [&]<int N>(int64_t lane) {
    softmax<N>(block, p, factor, lane, row_max, row_scale);
  });
  if (args.row_max) {
    const int64_t row = first_row(shape, head, block);
    memcpy(args.row_max + row, row_max, block.rows * sizeof(float));
    memcpy(args.row_scale + row, row_scale, block.rows * sizeof(float));
  }

  multiply_heads({.a = p,
                  .a_row = 1,
                  .a_column = block.stride,
                  .b = head.v,
                  .c = args.out + (token * shape.heads + head.h) * D,
                  .c_stride = shape.heads * D,
                  .rows = block.rows,
                  .columns = D,
                  .depth = block.keys});
}

/// Blocks [begin, end) of one head.
void attend_blocks(const AttentionForward& args, int64_t b, int64_t h, int64_t begin, int64_t end) {
  const AttentionShape& shape = args.shape;
  const int64_t offset = b * shape.keys * args.kv_stride + h * shape.head_size;
  const Workspace space = workspace_of(args);
  const Rows k = {args.k + offset, args.kv_stride}, v = {args.v + offset, args.kv_stride};
  const Head head = {b, h, packed(shape, k, shape.keys, space.k),
                     packed(shape, v, shape.keys, space.v)};
  for (int64_t block = begin; block < end; ++block) {
    attend(args, head, block_at(shape, block), space);
  }
}

}  // namespace

// Map      One work item a head, or a part of its blocks where heads are few. Per block of
//          queries: scores (lanes over queries), softmax down the keys, then the sum of the values
//          (lanes over the head).
// Memory   Keys and values of a head are copied once and stay in L2 with a block's scores, as does
//          a panel of values in L1. Compute-bound: 4 multiply-adds a score and 16 head elements.
// Numerics Each sum runs over the keys or the head in order: one order, whatever the threads.
// Needs    kAttentionPad a multiple of kLanes; scratch for every thread.
void attention_forward_cpu(const AttentionForward& args) {
  const AttentionShape& shape = args.shape;
  const int64_t blocks = block_count(shape), heads = shape.batch * shape.heads;
  const int64_t work = heads * shape.queries * shape.keys * shape.head_size;
  const int64_t wanted = kItemsPerThread * omp_get_max_threads() / max_of(1, heads);
  const int64_t parts = max_of(1, min_of(wanted, blocks));  // of each head
#pragma omp parallel for schedule(guided) if (work >= kSerialBelow)
  for (int64_t item = 0; item < heads * parts; ++item) {
    const int64_t head = item / parts, part = item % parts;
    attend_blocks(args, head / shape.heads, head % shape.heads, part * blocks / parts,
                  (part + 1) * blocks / parts);
  }
}

}  // namespace loopless::LOOPLESS_ISA
