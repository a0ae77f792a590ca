#include "ops/attention/attention.h"

#include <omp.h>

namespace loopless {
namespace {

/// The tensors that hold q, k and v, and how. A token's k and v start k_offset and v_offset floats
/// into its row of kv.
struct Operands {
  AttentionShape shape;
  Tensor q, kv;
  int64_t k_offset, v_offset;
  Tensor key_mask;
};

/// What the backward needs besides the operands: probabilities, or the other two.
struct Saved {
  Tensor probabilities = {}, row_max = {}, row_scale = {};
};

int64_t padded(int64_t n) { return (n + kAttentionPad - 1) / kAttentionPad * kAttentionPad; }

void check_options(const char* op, const AttentionOptions& options, int64_t batch, int64_t keys) {
  CHECK(options.first_query >= 0, op, ": first_query must not be negative, got ",
        options.first_query);
  if (options.key_mask.defined()) {
    check_tensor(op, "key_mask", options.key_mask, {batch, keys}, kU8);
  }
}

Saved empty_saved(const AttentionShape& shape) {
  const int64_t heads = shape.batch * shape.heads;
  const Shape probabilities = {heads, shape.keys, padded(shape.queries)};
  if (probabilities.numel() * size_of(kF32) <= kAttentionSavedBytes) {
    return {.probabilities = Tensor::empty(probabilities)};
  }
  return {.row_max = Tensor::empty({heads, shape.queries}),
          .row_scale = Tensor::empty({heads, shape.queries})};
}

template <class T = float>
T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

/// `token_rows` rows of a head for every key, `score_rows` blocks of scores, `blocks` of queries.
Tensor scratch_for(const AttentionShape& shape, int64_t token_rows, int64_t score_rows,
                   int64_t blocks) {
  const int64_t head = padded(shape.head_size);
  return Tensor::empty(
      {omp_get_max_threads(), shape.keys * (token_rows * head + score_rows * kAttentionBlock) +
                                  blocks * kAttentionBlock * head});
}

void run_forward(const Operands& x, const Tensor& out, const Saved& saved) {
  const Tensor scratch = scratch_for(x.shape, 2, saved.probabilities.defined() ? 0 : 1, 1);
  attention_forward_cpu({.shape = x.shape,
                         .q = x.q.data(),
                         .k = x.kv.data() + x.k_offset,
                         .v = x.kv.data() + x.v_offset,
                         .q_stride = x.q.columns(),
                         .kv_stride = x.kv.columns(),
                         .key_mask = data_or_null<uint8_t>(x.key_mask),
                         .out = out.data(),
                         .probabilities = data_or_null(saved.probabilities),
                         .row_max = data_or_null(saved.row_max),
                         .row_scale = data_or_null(saved.row_scale),
                         .scratch = scratch.data(),
                         .scratch_stride = scratch.columns()});
}

/// Gradients of q, and of k and v, inside the tensors that hold them.
struct OperandGradients {
  float *dq, *dk, *dv;
  bool accumulate_dq, accumulate_dkv;
};

void run_backward(const Operands& x, const Saved& saved, const Tensor& dout,
                  const OperandGradients& d) {
  const Tensor scratch = scratch_for(x.shape, 4, 2, 3);
  attention_backward_cpu({.shape = x.shape,
                          .q = x.q.data(),
                          .k = x.kv.data() + x.k_offset,
                          .v = x.kv.data() + x.v_offset,
                          .q_stride = x.q.columns(),
                          .kv_stride = x.kv.columns(),
                          .key_mask = data_or_null<uint8_t>(x.key_mask),
                          .probabilities = data_or_null(saved.probabilities),
                          .row_max = data_or_null(saved.row_max),
                          .row_scale = data_or_null(saved.row_scale),
                          .dout = dout.data(),
                          .dq = d.dq,
                          .dk = d.dk,
                          .dv = d.dv,
                          .accumulate_dq = d.accumulate_dq,
                          .accumulate_dkv = d.accumulate_dkv,
                          .scratch = scratch.data(),
                          .scratch_stride = scratch.columns()});
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& kv, const AttentionOptions& options) {
  const int64_t heads = options.heads;
  check_dtype("attention", "q", q);
  check_dtype("attention", "kv", kv);
  CHECK(heads > 0, "attention: heads must be positive, got ", heads);
  CHECK(q.rank() == 3 && q.size(2) > 0 && q.size(2) % heads == 0, "attention: q must be [B, Tq, ",
        heads, " * D], got ", q.shape());
  CHECK(kv.rank() == 3 && kv.size(0) == q.size(0) && kv.size(2) == 2 * q.size(2),
        "attention: kv must be [", q.size(0), ", Tk, ", 2 * q.size(2), "] to match q ", q.shape(),
        ", got ", kv.shape());
  check_options("attention", options, kv.size(0), kv.size(1));

  const int64_t width = q.size(2);
  const Operands x = {.shape = {.batch = q.size(0),
                                .heads = heads,
                                .queries = q.size(1),
                                .keys = kv.size(1),
                                .head_size = width / heads,
                                .first_query = options.first_query,
                                .is_causal = options.is_causal},
                      .q = q,
                      .kv = kv,
                      .k_offset = 0,
                      .v_offset = width,
                      .key_mask = options.key_mask};
  const Tensor out = Tensor::empty_like(q);
  const Saved saved = needs_grad({q, kv}) ? empty_saved(x.shape) : Saved();
  run_forward(x, out, saved);

  return record("attention", out, {q, kv}, [=](const Tensor& dout, Gradients d) {
    const GradientTarget dq = d[0].target(), dkv = d[1].target();
    float* dk = dkv.data();
    run_backward(x, saved, dout,
                 {.dq = dq.data(),
                  .dk = dk,
                  .dv = dk ? dk + width : nullptr,
                  .accumulate_dq = dq.accumulate,
                  .accumulate_dkv = dkv.accumulate});
  });
}

Tensor self_attention(const Tensor& qkv, const AttentionOptions& options) {
  const int64_t heads = options.heads;
  check_dtype("self_attention", "qkv", qkv);
  CHECK(heads > 0, "self_attention: heads must be positive, got ", heads);
  CHECK(qkv.rank() == 3 && qkv.size(2) > 0 && qkv.size(2) % (3 * heads) == 0,
        "self_attention: qkv must be [B, T, 3 * ", heads, " * D], got ", qkv.shape());
  check_options("self_attention", options, qkv.size(0), qkv.size(1));
  CHECK(options.first_query == 0, "self_attention: first_query must be 0, got ",
        options.first_query);

  const int64_t width = qkv.size(2) / 3;
  const Operands x = {.shape = {.batch = qkv.size(0),
                                .heads = heads,
                                .queries = qkv.size(1),
                                .keys = qkv.size(1),
                                .head_size = width / heads,
                                .first_query = options.first_query,
                                .is_causal = options.is_causal},
                      .q = qkv,
                      .kv = qkv,
                      .k_offset = width,
                      .v_offset = 2 * width,
                      .key_mask = options.key_mask};
  const Tensor out = Tensor::empty(qkv.shape().with(2, width));
  const Saved saved = needs_grad({qkv}) ? empty_saved(x.shape) : Saved();
  run_forward(x, out, saved);

  return record("self_attention", out, {qkv}, [=](const Tensor& dout, Gradients d) {
    const GradientTarget dqkv = d[0].target();
    float* dq = dqkv.data();
    run_backward(x, saved, dout,
                 {.dq = dq,
                  .dk = dq + width,
                  .dv = dq + 2 * width,
                  .accumulate_dq = dqkv.accumulate,
                  .accumulate_dkv = dqkv.accumulate});
  });
}

}  // namespace loopless
