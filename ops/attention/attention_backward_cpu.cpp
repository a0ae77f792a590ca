#include <omp.h>

#include "ops/attention/attention_tiles.h"

namespace loopless::LOOPLESS_ISA {
namespace {

/// Scores to probabilities once more, with the forward's bits.
template <int N>
void softmax_again(const Block& block, float* scores, Vec factor, int64_t lane,
                   const float* row_max, const float* row_scale) {
  Vec largest[N], scale[N];
  for (int n = 0; n < N; ++n) {
    largest[n] = load(row_max + lane + n * kLanes);
    scale[n] = load(row_scale + lane + n * kLanes);
  }
  for (int64_t j = 0; j < block.keys; ++j) {
    float* s = scores + j * block.stride + lane;
    Vec e[N];
    for (int n = 0; n < N; ++n) e[n] = load(s + n * kLanes) - largest[n];
    exp2_scaled(e, factor);
    for (int n = 0; n < N; ++n) store(s + n * kLanes, e[n] * scale[n]);
  }
}

/// dp -> ds = p (dp - sum_j p dp) / sqrt(D), in place.
template <int N>
void softmax_backward(const Block& block, const float* p, float* dp, Vec scale, int64_t lane) {
  Vec sum[N];
  for (int n = 0; n < N; ++n) sum[n] = Vec{};
  for (int64_t j = 0; j < block.keys; ++j) {
    const int64_t at = j * block.stride + lane;
    for (int n = 0; n < N; ++n) sum[n] += load(p + at + n * kLanes) * load(dp + at + n * kLanes);
  }
  for (int64_t j = 0; j < block.keys; ++j) {
    const int64_t at = j * block.stride + lane;
    for (int n = 0; n < N; ++n) {
      const Vec difference = load(dp + at + n * kLanes) - sum[n];
      store(dp + at + n * kLanes, load(p + at + n * kLanes) * difference * scale);
    }
  }
}

/// What one thread works with, cut from its part of the scratch.
struct Workspace {
  float *k, *v, *dk, *dv;  // [keys, padded head_size]
  float *p, *ds;           // [keys, kAttentionBlock]
  float *q, *dout;         // [kAttentionBlock, padded head_size]
  float* transposed;       // [head_size, kAttentionBlock]
};

Workspace workspace_of(const AttentionBackward& args) {
  const int64_t padded = round_up(args.shape.head_size, kAttentionPad), keys = args.shape.keys;
  float* base = args.scratch + omp_get_thread_num() * args.scratch_stride;
  float* scores = base + 4 * keys * padded;
  float* blocks = scores + 2 * keys * kAttentionBlock;
  const int64_t tokens = keys * padded, block = kAttentionBlock * padded;
  return {.k = base,
          .v = base + tokens,
          .dk = base + 2 * tokens,
          .dv = base + 3 * tokens,
          .p = scores,
          .ds = scores + keys * kAttentionBlock,
          .q = blocks,
          .dout = blocks + block,
          .transposed = blocks + 2 * block};
}

/// Where a head's gradient of k or v is summed up.
struct Sum {
  float* data;
  int64_t stride;
  bool accumulate;
};

/// The block's probabilities: as saved, or computed once more into the workspace.
const float* probabilities_of(const AttentionBackward& args, const Head& head, const Block& block,
                              Rows q, const Workspace& space) {
  const AttentionShape& shape = args.shape;
  if (args.probabilities) return args.probabilities + probability_offset(shape, head, block);
  multiply_pairs(shape, block, q, head.k, space.transposed, space.p);
  hide_keys(shape, head, block, args.key_mask, space.p);

  float row_max[kAttentionBlock] = {}, row_scale[kAttentionBlock] = {};
  const int64_t row = first_row(shape, head, block);
  memcpy(row_max, args.row_max + row, block.rows * sizeof(float));
  memcpy(row_scale, args.row_scale + row, block.rows * sizeof(float));
  const Vec factor = score_factor(shape);
  for_each_pair(block.rows, [&]<int N>(int64_t lane) {
    softmax_again<N>(block, space.p, factor, lane, row_max, row_scale);
  });
  return space.p;
}

/// sum (+)= weights^T rows: weights [keys, queries], rows [queries, head_size].
void add_to(const Sum& sum, const AttentionShape& shape, const Block& block, const float* weights,
            Rows rows) {
  multiply_heads({.a = weights,
                  .a_row = block.stride,
                  .a_column = 1,
                  .b = rows,
                  .c = sum.data,
                  .c_stride = sum.stride,
                  .rows = block.keys,
                  .columns = shape.head_size,
                  .depth = block.rows,
                  .accumulate = sum.accumulate});
}

void backward_block(const AttentionBackward& args, const Head& head, const Block& block,
                    const Workspace& space, const Sum& dk, const Sum& dv) {
  const AttentionShape& shape = args.shape;
  const int64_t D = shape.head_size, token = head.b * shape.queries + block.begin;
  const int64_t q_offset = token * args.q_stride + head.h * D;
  const Rows dout_rows = {args.dout + (token * shape.heads + head.h) * D, shape.heads * D};
  const Rows q = packed(shape, {args.q + q_offset, args.q_stride}, block.rows, space.q);
  const Rows dout = packed(shape, dout_rows, block.rows, space.dout);
  const float* p = probabilities_of(args, head, block, q, space);

  multiply_pairs(shape, block, dout, head.v, space.transposed, space.ds);
  const Vec scale = spread(1.0f / sqrtf(static_cast<float>(D)));
  for_each_pair(block.rows,
                [&]<int N>(int64_t lane) { softmax_backward<N>(block, p, space.ds, scale, lane); });

  if (args.dq) {
    multiply_heads({.a = space.ds,
                    .a_row = 1,
                    .a_column = block.stride,
                    .b = head.k,
                    .c = args.dq + q_offset,
                    .c_stride = args.q_stride,
                    .rows = block.rows,
                    .columns = D,
                    .depth = block.keys,
                    .accumulate = args.accumulate_dq});
  }
  if (args.dk) {
    add_to(dk, shape, block, space.ds, q);
    add_to(dv, shape, block, p, dout);
  }
}

/// Brings a sum from the workspace to where it belongs. Keys from `seen` on have none: 0.
void deliver(const Sum& from, int64_t seen, const AttentionShape& shape, const Sum& to) {
  for (int64_t j = 0; j < shape.keys; ++j) {
    const float* source = from.data + j * from.stride;
    float* target = to.data + j * to.stride;
    for (int64_t c = 0; c < shape.head_size; ++c) {
      const float value = j < seen ? source[c] : 0.0f;
      target[c] = to.accumulate ? target[c] + value : value;
    }
  }
}

void backward_head(const AttentionBackward& args, int64_t b, int64_t h) {
  const AttentionShape& shape = args.shape;
  const int64_t offset = b * shape.keys * args.kv_stride + h * shape.head_size;
  const int64_t padded = round_up(shape.head_size, kAttentionPad);
  const Workspace space = workspace_of(args);
  const Rows k = {args.k + offset, args.kv_stride}, v = {args.v + offset, args.kv_stride};
  const Head head = {b, h, packed(shape, k, shape.keys, space.k),
                     packed(shape, v, shape.keys, space.v)};
  Sum dk = {space.dk, padded, false}, dv = {space.dv, padded, false};

  // From the last block on: it sees the most keys, so it writes all that the others add to.
  const int64_t blocks = block_count(shape);
  const int64_t seen = blocks > 0 ? block_at(shape, blocks - 1).keys : 0;
  // One block that sees every key needs no sum in between.
  const bool is_direct = args.dk && blocks == 1 && seen == shape.keys;
  if (is_direct) {
    dk = {args.dk + offset, args.kv_stride, args.accumulate_dkv};
    dv = {args.dv + offset, args.kv_stride, args.accumulate_dkv};
  }
  for (int64_t block = blocks - 1; block >= 0; --block) {
    backward_block(args, head, block_at(shape, block), space, dk, dv);
    dk.accumulate = dv.accumulate = true;
  }
  if (args.dk && !is_direct) {
    deliver(dk, seen, shape, {args.dk + offset, args.kv_stride, args.accumulate_dkv});
    deliver(dv, seen, shape, {args.dv + offset, args.kv_stride, args.accumulate_dkv});
  }
}

}  // namespace

// Map      One work item a head. Per block of queries, from the last to the first: probabilities
//          (saved, or scores and softmax again), their gradient (lanes over queries), then dq, and
//          dk and dv added up over the blocks (lanes over the head).
// Memory   A head's keys, values and their gradients stay in L2. Compute-bound: 4 products, or 5.
// Numerics Each sum runs over the keys, the head or the blocks in order, whatever the threads.
// Needs    kAttentionPad a multiple of kLanes; scratch for every thread.
void attention_backward_cpu(const AttentionBackward& args) {
  const AttentionShape& shape = args.shape;
  const int64_t heads = shape.batch * shape.heads;
  const int64_t work = heads * shape.queries * shape.keys * shape.head_size;
#pragma omp parallel for schedule(guided) if (work >= kSerialBelow)
  for (int64_t head = 0; head < heads; ++head) {
    backward_head(args, head / shape.heads, head % shape.heads);
  }
}

}  // namespace loopless::LOOPLESS_ISA
