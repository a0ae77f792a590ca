#pragma once

#include "autograd/autograd.h"
#include "tensor/isa.h"

namespace loopless {

struct AttentionOptions {
  int64_t heads;
  bool is_causal = false;   // a query sees the keys at its own position and before
  Tensor key_mask = {};     // u8 [B, Tk], 1 = visible, 0 = hidden; undefined: all are visible
  int64_t first_query = 0;  // position of query 0 among the keys; matters where is_causal
};

/// out = attention(q, kv): each query's mean of the values, weighted by how well its key fits.
///
///   s[b,h,i,j]     = q[b,i,h] . k[b,j,h] / sqrt(D)
///   visible[b,i,j] = key_mask[b,j] and (j <= first_query + i or not is_causal)
///   p[b,h,i,j]     = exp(s[b,h,i,j]) / sum_l exp(s[b,h,i,l]) over visible l; 0 where not visible
///   out[b,i,h]     = sum_j p[b,h,i,j] v[b,j,h];  0 where a query sees no key
///   dv[b,j,h]      = sum_i p[b,h,i,j] dout[b,i,h]
///   ds[b,h,i,j]    = p[b,h,i,j] (dp[b,h,i,j] - sum_l p[b,h,i,l] dp[b,h,i,l]),
///                    dp[b,h,i,j] = dout[b,i,h] . v[b,j,h]
///   dq[b,i,h]      = sum_j ds[b,h,i,j] k[b,j,h] / sqrt(D)
///   dk[b,j,h]      = sum_i ds[b,h,i,j] q[b,i,h] / sqrt(D)
///
/// Shapes   q [B, Tq, H*D], kv [B, Tk, 2*H*D] (all heads of k, then of v) -> out [B, Tq, H*D];
///          B, Tq or Tk = 0 are legal.
/// Types    q, kv, out: f32; key_mask: u8.
/// Saves    q, kv, key_mask; p where it has at most kAttentionSavedBytes, else what it takes to
///          compute p again, with the same bits: row_max and row_scale [B, H, Tq].
/// Throws   Error if a shape or type does not fit, heads is not positive or first_query negative.
/// Numerics sums and softmax in f32, the row's largest score subtracted first; error <= 2x the
///          naive f32 loop (against f64); the same for any number of threads.
/// Source   Vaswani et al. 2017, arXiv:1706.03762, eq. 1; in blocks of queries as in Dao 2023,
///          arXiv:2307.08691.
Tensor attention(const Tensor& q, const Tensor& kv, const AttentionOptions& options);

/// The same with q, k and v side by side in one tensor: qkv [B, T, 3*H*D] -> [B, T, H*D].
/// Every token is a query, so first_query must be 0.
Tensor self_attention(const Tensor& qkv, const AttentionOptions& options);

/// Probabilities of one call are saved up to this size. Reading them back is faster than computing
/// them again (backward 4.6 against 5.6 ms at B 8, H 4, T 136, D 64, one thread of AVX2).
inline constexpr int64_t kAttentionSavedBytes = int64_t{64} << 20;

/// Queries are taken in blocks of this many. Inside a block the scores stand transposed, a row a
/// key and a lane a query, so that softmax needs no sums across lanes.
inline constexpr int64_t kAttentionBlock = 48;
/// Rows of scores and of scratch have a multiple of this many floats: one register of AVX-512.
inline constexpr int64_t kAttentionPad = 16;

/// What both kernels need to know about the sizes and about what is visible.
struct AttentionShape {
  int64_t batch, heads, queries, keys, head_size, first_query;
  bool is_causal;
};

struct AttentionForward {
  AttentionShape shape;
  const float* q;      // [batch, queries, heads, head_size], a token q_stride after the last
  const float *k, *v;  // [batch, keys, heads, head_size], a token kv_stride after the last
  int64_t q_stride, kv_stride;
  const uint8_t* key_mask;  // [batch, keys] or null
  float* out;               // [batch, queries, heads, head_size], packed
  float* probabilities;     // [batch, heads, keys * padded queries]: blocks one after the other,
                            // each [keys, padded queries of the block]; or null
  float* row_max;           // [batch, heads, queries], a query's largest score, or null
  float* row_scale;         // [batch, heads, queries], 1 / the sum of its exponentials, or null
  float* scratch;           // [threads, scratch_stride]
  int64_t scratch_stride;
};
CPU_KERNEL(attention_forward_cpu, AttentionForward);

struct AttentionBackward {
  AttentionShape shape;
  const float* q;
  const float *k, *v;
  int64_t q_stride, kv_stride;
  const uint8_t* key_mask;
  const float* probabilities;        // as saved by the forward; or null, and then
  const float *row_max, *row_scale;  // these are set
  const float* dout;                 // [batch, queries, heads, head_size], packed
  float* dq;                         // as q, or null: not wanted
  float *dk, *dv;                    // as k and v, or null
  bool accumulate_dq, accumulate_dkv;
  float* scratch;  // [threads, scratch_stride]
  int64_t scratch_stride;
};
CPU_KERNEL(attention_backward_cpu, AttentionBackward);

}  // namespace loopless
