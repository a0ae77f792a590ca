#include <omp.h>

#include "ops/attention/attention.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

struct Sizes {
  int64_t batch, queries, keys, heads, head_size;
  int64_t width() const { return heads * head_size; }
};

/// The probabilities of one query and head, by the contract's formulas.
template <class S>
std::vector<S> naive_probabilities(const Sizes& n, const AttentionOptions& options, const S* q,
                                   const S* k, int64_t k_stride, int64_t b, int64_t i) {
  std::vector<S> p(n.keys, 0);
  S largest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < n.keys; ++j) {
    for (int64_t c = 0; c < n.head_size; ++c) p[j] += q[c] * k[j * k_stride + c];
    p[j] /= std::sqrt(static_cast<S>(n.head_size));
    const bool is_masked = options.key_mask && !options.key_mask.data<uint8_t>()[b * n.keys + j];
    const bool is_later = options.is_causal && j > options.first_query + i;
    if (is_masked || is_later) p[j] = -INFINITY;
    largest = std::max(largest, p[j]);
  }
  for (S& value : p) sum += value = largest == -INFINITY ? 0 : std::exp(value - largest);
  for (S& value : p) value = sum > 0 ? value / sum : 0;
  return p;
}

/// q [B, Tq, q_stride] and kv [B, Tk, kv_stride], heads of k and v from the offsets on.
template <class S>
std::vector<S> naive_attention(const Sizes& n, const AttentionOptions& options, const S* q,
                               int64_t q_stride, const S* kv, int64_t kv_stride, int64_t k_offset) {
  const int64_t D = n.head_size;
  std::vector<S> out(n.batch * n.queries * n.width(), 0);
  for (int64_t b = 0; b < n.batch; ++b) {
    for (int64_t i = 0; i < n.queries; ++i) {
      for (int64_t h = 0; h < n.heads; ++h) {
        const S* k = kv + b * n.keys * kv_stride + k_offset + h * D;
        const std::vector<S> p = naive_probabilities(
            n, options, q + (b * n.queries + i) * q_stride + h * D, k, kv_stride, b, i);
        S* row = out.data() + (b * n.queries + i) * n.width() + h * D;
        for (int64_t j = 0; j < n.keys; ++j) {
          for (int64_t c = 0; c < D; ++c) row[c] += p[j] * k[j * kv_stride + n.width() + c];
        }
      }
    }
  }
  return out;
}

auto reference_of(const Sizes& n, const AttentionOptions& options) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    return naive_attention(n, options, in[0].data(), n.width(), in[1].data(), 2 * n.width(), 0);
  };
}
auto self_reference_of(const Sizes& n, const AttentionOptions& options) {
  return [=]<class S>(const std::vector<std::vector<S>>& in) {
    return naive_attention(n, options, in[0].data(), 3 * n.width(), in[0].data(), 3 * n.width(),
                           n.width());
  };
}

std::vector<Tensor> random_inputs(const Sizes& n, uint64_t seed = 1) {
  return {random_tensor({n.batch, n.queries, n.width()}, seed),
          random_tensor({n.batch, n.keys, 2 * n.width()}, seed + 1)};
}

/// Roughly a third of the keys hidden; in the last batch row all of them.
Tensor random_mask(const Sizes& n) {
  std::vector<uint8_t> mask;
  for (int32_t value : random_ids({n.batch, n.keys}, 0, 2, 9).to_vector<int32_t>()) {
    mask.push_back(value != 0);
  }
  for (int64_t j = 0; j < n.keys; ++j) mask[(n.batch - 1) * n.keys + j] = 0;
  return Tensor::from({n.batch, n.keys}, mask);
}

/// Every kind of visibility at one size.
std::vector<AttentionOptions> all_options(const Sizes& n) {
  return {{.heads = n.heads},
          {.heads = n.heads, .is_causal = true},
          {.heads = n.heads, .is_causal = true, .first_query = n.keys / 2},
          {.heads = n.heads, .key_mask = random_mask(n)},
          {.heads = n.heads, .is_causal = true, .key_mask = random_mask(n), .first_query = 2}};
}

auto op_of(const AttentionOptions& options) {
  return [=](const std::vector<Tensor>& in) { return attention(in[0], in[1], options); };
}

struct Result {
  Tensor out, dq, dkv;
};

Result run(const std::vector<Tensor>& inputs, const AttentionOptions& options) {
  const Tensor q = leaf(inputs[0]), kv = leaf(inputs[1]);
  const Tensor out = attention(q, kv, options);
  backward_from(out, random_tensor(out.shape(), 5));
  return {detach(out), grad_of(q), grad_of(kv)};
}

void expect_same_bits(const Tensor& a, const Tensor& b) { EXPECT_EQ(a.to_vector(), b.to_vector()); }

TEST(Attention, matches_reference) {
  // Sizes around a vector (8 or 16 lanes), around a block of 48 queries, and of the models.
  for (const Sizes& n : {Sizes{2, 9, 9, 2, 64},
                         {2, 17, 17, 2, 32},
                         {1, 48, 33, 1, 64},
                         {2, 49, 80, 2, 20},
                         {1, sized(145, 50), sized(145, 50), 2, 64},
                         {2, 16, sized(272, 64), 1, 64},
                         {3, 5, 7, 2, 3}}) {
    const std::vector<Tensor> inputs = random_inputs(n);
    for (const AttentionOptions& options : all_options(n)) {
      expect_matches(op_of(options)(inputs), reference_of(n, options), inputs);
    }
  }
}

TEST(Attention, self_attention_matches_reference) {
  for (const Sizes& n : {Sizes{2, 9, 9, 2, 64}, {1, 72, 72, 2, 64}, {2, 19, 19, 3, 5}}) {
    const Tensor qkv = random_tensor({n.batch, n.queries, 3 * n.width()}, 1);
    for (const AttentionOptions& options :
         {AttentionOptions{.heads = n.heads}, {.heads = n.heads, .is_causal = true}}) {
      expect_matches(self_attention(qkv, options), self_reference_of(n, options), {qkv});
    }
  }
}

// At the size of the model's encoder, where the naive loop takes too long.
TEST(Attention, query_windows_equal_rows_of_the_whole) {
  const Sizes n{2, sized(272, 60), sized(272, 60), 2, 64};
  const std::vector<Tensor> inputs = random_inputs(n);
  const Tensor mask = random_mask(n);
  for (const bool is_causal : {false, true}) {
    const std::vector<float> whole =
        attention(inputs[0], inputs[1], {.heads = 2, .is_causal = is_causal, .key_mask = mask})
            .to_vector();
    for (const auto& [begin, count] :
         {std::pair<int64_t, int64_t>{0, 16}, {n.keys - 16, 16}, {13, 1}, {7, 50}}) {
      Tensor q = Tensor::empty({n.batch, count, n.width()});
      std::vector<float> rows;
      for (int64_t b = 0; b < n.batch; ++b) {
        const Tensor sequence = inputs[0].view_rows(b, 1).view({n.queries, n.width()});
        q.view_rows(b, 1).view({count, n.width()}).copy_from(sequence.view_rows(begin, count));
        const auto first = whole.begin() + (b * n.queries + begin) * n.width();
        rows.insert(rows.end(), first, first + count * n.width());
      }
      const AttentionOptions options{
          .heads = 2, .is_causal = is_causal, .key_mask = mask, .first_query = begin};
      EXPECT_EQ(attention(q, inputs[1], options).to_vector(), rows) << begin << " " << count;
    }
  }
}

TEST(Attention, gradient) {
  for (const Sizes& n : {Sizes{2, 9, 9, 2, 64}, {2, 50, 35, 1, 20}, {1, 97, 40, 2, 16}}) {
    for (const AttentionOptions& options : all_options(n)) {
      expect_gradient(op_of(options), reference_of(n, options), random_inputs(n));
    }
  }
  const Sizes small{2, 5, 6, 2, 3};
  for (const AttentionOptions& options : all_options(small)) {
    expect_gradient(op_of(options), reference_of(small, options), random_inputs(small), true);
  }
  const Sizes self{2, 50, 50, 2, 8};
  const AttentionOptions options{.heads = 2, .is_causal = true};
  expect_gradient([=](const std::vector<Tensor>& in) { return self_attention(in[0], options); },
                  self_reference_of(self, options), {random_tensor({2, 50, 48}, 3)});
}

// A gradient that nobody wants is not computed, and leaves the other one unchanged.
TEST(Attention, one_gradient_of_two) {
  const Sizes n{2, 20, 33, 2, 16};
  const std::vector<Tensor> inputs = random_inputs(n);
  const AttentionOptions options{.heads = 2};
  const Result both = run(inputs, options);
  const Tensor q = leaf(inputs[0]), kv = leaf(inputs[1]),
               dout = random_tensor(inputs[0].shape(), 5);
  backward_from(attention(q, inputs[1], options), dout);
  backward_from(attention(inputs[0], kv, options), dout);
  expect_same_bits(grad_of(q), both.dq);
  expect_same_bits(grad_of(kv), both.dkv);
}

// Beyond kAttentionSavedBytes the backward computes the probabilities again. Batch rows do not
// depend on each other: one of many, above the limit, equals the same one alone, below it.
TEST(Attention, recomputed_equals_saved) {
  const int64_t keys = sized(500, 96), heads = 2;
  const int64_t bytes = heads * keys * 112 * 4;  // of one batch row's probabilities: 97 queries
  const int64_t batch = kAttentionSavedBytes / bytes + 1;
  const Sizes many{batch, 97, keys, heads, 3};
  const std::vector<Tensor> inputs = random_inputs(many);
  Tensor mask = random_mask(many);
  AttentionOptions options{.heads = heads, .is_causal = true, .key_mask = mask, .first_query = 40};
  const Tensor q = leaf(inputs[0]), kv = leaf(inputs[1]);
  const Tensor out = attention(q, kv, options), dout = random_tensor(out.shape(), 5);
  backward_from(out, dout);
  for (const int64_t b : {int64_t{0}, batch - 1}) {
    options.key_mask = mask.view_rows(b, 1);
    const Tensor q_one = leaf(inputs[0].view_rows(b, 1)), kv_one = leaf(inputs[1].view_rows(b, 1));
    const Tensor out_one = attention(q_one, kv_one, options);
    backward_from(out_one, dout.view_rows(b, 1));
    expect_same_bits(out.view_rows(b, 1), out_one);
    expect_same_bits(grad_of(q).view_rows(b, 1), grad_of(q_one));
    expect_same_bits(grad_of(kv).view_rows(b, 1), grad_of(kv_one));
  }
}

TEST(Attention, edges) {
  for (const Sizes& n : {Sizes{0, 3, 4, 2, 8}, {2, 0, 4, 2, 8}, {2, 3, 0, 2, 8}, {1, 1, 1, 1, 1}}) {
    const Result result = run(random_inputs(n), {.heads = n.heads, .is_causal = true});
    EXPECT_EQ(result.out.shape(), Shape({n.batch, n.queries, n.width()}));
    if (n.keys == 1) continue;
    EXPECT_EQ(largest_magnitude(result.out.to_vector()), 0);
    EXPECT_EQ(largest_magnitude(result.dkv.to_vector()), 0);
  }
  // A query that sees no key: zeros, also where its neighbours in the block see some.
  const Sizes n{2, 50, 60, 2, 16};
  const std::vector<Tensor> inputs = random_inputs(n);
  const Result result = run(inputs, {.heads = 2, .key_mask = random_mask(n)});
  for (const Tensor& x : {result.out, result.dq, result.dkv}) {
    EXPECT_EQ(largest_magnitude(x.view_rows(1, 1).to_vector()), 0);
    EXPECT_GT(largest_magnitude(x.view_rows(0, 1).to_vector()), 0);
  }
  // Scores of +-1e4 and more: softmax becomes a choice of one key, without overflow.
  const std::vector<Tensor> large = {random_tensor({1, 9, 16}, 1, 300.0f),
                                     random_tensor({1, 9, 32}, 2, 300.0f)};
  expect_matches(attention(large[0], large[1], {.heads = 1}),
                 reference_of({1, 9, 9, 1, 16}, {.heads = 1}), large);
  // A NaN is not hidden.
  const std::vector<Tensor> broken = random_inputs({1, 3, 3, 1, 8});
  broken[0].data()[0] = NAN;
  const std::vector<float> out = attention(broken[0], broken[1], {.heads = 1}).to_vector();
  for (int64_t c = 0; c < 8; ++c) EXPECT_TRUE(std::isnan(out[c]) && !std::isnan(out[8 + c]));
}

TEST(Attention, accumulates) {
  for (const Sizes& n : {Sizes{2, 9, 9, 2, 16}, {1, 60, 40, 2, 20}}) {
    expect_accumulates(op_of({.heads = 2, .is_causal = true}), random_inputs(n));
  }
  expect_accumulates(
      [](const std::vector<Tensor>& in) { return self_attention(in[0], {.heads = 2}); },
      {random_tensor({2, 20, 48}, 1)});
}

TEST(Attention, same_bits_for_any_number_of_threads) {
  const int before = omp_get_max_threads();
  for (const Sizes& n : {Sizes{8, 17, 17, 8, 64}, {1, sized(272, 100), sized(272, 100), 2, 64}}) {
    const std::vector<Tensor> inputs = random_inputs(n);
    std::vector<Result> results;
    for (const int threads : {1, 2, 3}) {
      omp_set_num_threads(threads);
      results.push_back(run(inputs, {.heads = n.heads, .is_causal = true}));
    }
    omp_set_num_threads(before);
    for (size_t i = 1; i < results.size(); ++i) {
      expect_same_bits(results[i].out, results[0].out);
      expect_same_bits(results[i].dq, results[0].dq);
      expect_same_bits(results[i].dkv, results[0].dkv);
    }
  }
}

TEST(Attention, errors) {
  const Tensor q = Tensor::zeros({2, 3, 8}), kv = Tensor::zeros({2, 5, 16});
  EXPECT_ERROR(attention(q, kv, {.heads = 0}), "attention: heads must be positive, got 0");
  EXPECT_ERROR(attention(q, kv, {.heads = 3}),
               "attention: q must be [B, Tq, 3 * D], got [2, 3, 8]");
  EXPECT_ERROR(attention(q, q, {.heads = 2}),
               "attention: kv must be [2, Tk, 16] to match q [2, 3, 8], got [2, 3, 8]");
  EXPECT_ERROR(attention(q, kv, {.heads = 2, .first_query = -1}),
               "attention: first_query must not be negative, got -1");
  EXPECT_ERROR(attention(q, kv, {.heads = 2, .key_mask = Tensor::zeros({2, 3}, kU8)}),
               "attention: key_mask must be [2, 5], got [2, 3]");
  EXPECT_ERROR(attention(q, kv, {.heads = 2, .key_mask = Tensor::zeros({2, 5})}),
               "attention: key_mask must be u8, got f32");
  EXPECT_ERROR(attention(Tensor(), kv, {.heads = 2}), "attention: q is undefined");
  EXPECT_ERROR(self_attention(q, {.heads = 2}),
               "self_attention: qkv must be [B, T, 3 * 2 * D], got [2, 3, 8]");
  EXPECT_ERROR(self_attention(Tensor::zeros({2, 3, 12}), {.heads = 2, .first_query = 1}),
               "self_attention: first_query must be 0, got 1");
}

}  // namespace
}  // namespace loopless::testing
