#include <cstring>
#include <filesystem>
#include <thread>

#include "ops/linear/matmul.h"
#include "ops/linear/matmul_onednn.h"
#include "tests/support/op_test.h"
#include "tests/support/threads.h"

namespace loopless::testing {
namespace {

/// The two that `matmul` chooses from. Both run on every processor.
struct Way {
  const char* name;
  void (*product)(const Matmul&);
};
constexpr Way kOwn{"own kernel", matmul_own}, kOneDnn{"oneDNN", matmul_onednn};

/// One product: sizes, and how its matrices are stored.
struct Case {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false, accumulate = false, has_bias = false;
  int64_t gap = 0;  // elements between the end of a stored row and the next one
  bool is_packed = false;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "[" << c.m << " x " << c.k << "] x [" << c.k << " x " << c.n << "], transposed "
             << c.transpose_a << c.transpose_b << ", accumulate " << c.accumulate << ", bias "
             << c.has_bias << ", gap " << c.gap << ", packed " << c.is_packed;
}

struct Stored {
  int64_t ld;
  std::vector<float> values;
};
Stored random_matrix(int64_t rows, int64_t columns, int64_t gap, uint64_t seed) {
  return {columns + gap, random_tensor({rows * (columns + gap)}, seed).to_vector()};
}

/// What c has to hold afterwards, gaps included, summed in type S by the formula of the header.
template <class S>
std::vector<S> naive(const Case& t, const Stored& a, const Stored& b, const Stored& c,
                     const std::vector<float>& bias) {
  std::vector<S> result(c.values.begin(), c.values.end());
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) {
      S sum = 0;
      for (int64_t p = 0; p < t.k; ++p) {
        const float left = a.values[t.transpose_a ? p * a.ld + i : i * a.ld + p];
        const float right = b.values[t.transpose_b ? j * b.ld + p : p * b.ld + j];
        sum += static_cast<S>(left) * static_cast<S>(right);
      }
      if (t.has_bias) sum += bias[j];
      S& element = result[i * c.ld + j];
      element = t.accumulate ? element + sum : sum;
    }
  }
  return result;
}

void expect_matches(const Case& t) {
  const Stored a = random_matrix(t.transpose_a ? t.k : t.m, t.transpose_a ? t.m : t.k, t.gap, 1);
  const Stored b = random_matrix(t.transpose_b ? t.n : t.k, t.transpose_b ? t.k : t.n, t.gap, 2);
  const Stored c = random_matrix(t.m, t.n, t.gap, 3);
  const std::vector<float> bias = random_tensor({t.n}, 4).to_vector();
  const std::vector<double> truth = naive<double>(t, a, b, c, bias);
  const std::vector<float> in_float = naive<float>(t, a, b, c, bias);
  // In one sum of k terms the naive loop may be lucky. What it has to expect is k 2^-24: each of k
  // roundings is up to half a unit of a sum as large as sqrt(k), and they add up as a random walk.
  const double expected = static_cast<double>(t.k) * 0x1p-24;
  const double tolerance =
      2 * std::max(largest_difference(in_float, truth), expected) + ulp(largest_magnitude(truth));

  const PackedMatrix packed(t.n, t.k, b.values.data(), t.transpose_b, b.ld);
  for (const Way& way : {kOwn, kOneDnn}) {
    std::vector<float> result = c.values;
    way.product({.m = t.m,
                 .n = t.n,
                 .k = t.k,
                 .a = a.values.data(),
                 .transpose_a = t.transpose_a,
                 .b = b.values.data(),
                 .transpose_b = t.transpose_b,
                 .c = result.data(),
                 .bias = t.has_bias ? bias.data() : nullptr,
                 .accumulate = t.accumulate,
                 .lda = a.ld,
                 .ldb = b.ld,
                 .ldc = c.ld,
                 .packed_b = t.is_packed ? &packed : nullptr});
    EXPECT_LE(largest_difference(result, truth), tolerance) << way.name << ": " << t;
  }
}

TEST(Matmul, matches_reference_however_stored) {
  for (int bits = 0; bits < 64; ++bits) {
    expect_matches({.m = sized(40, 30),
                    .n = sized(50, 40),
                    .k = sized(400, 90),
                    .transpose_a = (bits & 1) != 0,
                    .transpose_b = (bits & 2) != 0,
                    .accumulate = (bits & 4) != 0,
                    .has_bias = (bits & 8) != 0,
                    .gap = bits & 16 ? 3 : 0,
                    .is_packed = (bits & 32) != 0});
  }
}

TEST(Matmul, edges) {
  // Around the register tiles (6 x 16, 12 x 32), the groups of 8, the passes of 256 and 384 terms.
  for (const int64_t m : {0, 1, 7, 13, 73}) {
    for (const int64_t n : {0, 1, 15, 17, 33}) {
      for (const int64_t k : {0, 1, 33, 257, 385, 769}) {
        for (int bits = 0; bits < 4; ++bits) {
          const bool transpose_a = (bits & 1) != 0, transpose_b = (bits & 2) != 0;
          expect_matches({m, n, k, transpose_a, transpose_b, transpose_a, transpose_b});
        }
      }
    }
  }
}

/// y = x W^T for random x [m, k] and W [n, k]: what the tests below multiply.
struct Layer {
  Layer(int64_t m, int64_t n, int64_t k, uint64_t seed = 1)
      : m(m), n(n), k(k), x(random_tensor({m, k}, seed)), weight(random_tensor({n, k}, seed + 1)) {}

  /// Rows [first, first + count) of y.
  std::vector<float> rows(const Way& way, int64_t first, int64_t count) const {
    std::vector<float> y(count * n);
    way.product({.m = count,
                 .n = n,
                 .k = k,
                 .a = x.data() + first * k,
                 .b = weight.data(),
                 .transpose_b = true,
                 .c = y.data()});
    return y;
  }
  std::vector<float> all(const Way& way) const { return rows(way, 0, m); }

  int64_t m, n, k;
  Tensor x, weight;
};

TEST(Matmul, is_done_by_onednn_where_the_rule_says_so) {
  const Layer layer(30, 40, 1500);  // oneDNN adds up in another order
  EXPECT_NE(layer.all(kOwn), layer.all(kOneDnn));
  EXPECT_EQ(layer.all({"matmul", matmul}), layer.all(matmul_uses_onednn() ? kOneDnn : kOwn));
}

/// With our own kernel a row of C depends on the same row of A alone, so work can be cut anywhere
/// without changing a bit: one step of a recurrence at a time, or all of them at once.
TEST(Matmul, own_rows_do_not_depend_on_each_other) {
  const Layer layer(41, 50, 700);
  const std::vector<float> together = layer.all(kOwn);
  for (int64_t i = 0; i < layer.m; ++i) {
    const std::vector<float> alone = layer.rows(kOwn, i, 1);
    EXPECT_EQ(std::memcmp(alone.data(), &together[i * layer.n], layer.n * sizeof(float)), 0)
        << "row " << i;
  }
}

TEST(Matmul, own_is_the_same_for_any_threads) {
  const Layer layer(150, 100, 800);
  const ThreadCount one(1);
  const std::vector<float> alone = layer.all(kOwn);
  for (int threads = 2; threads <= 5; ++threads) {
    const ThreadCount several(threads);
    EXPECT_EQ(layer.all(kOwn), alone) << threads << " threads";
  }
}

TEST(Matmul, allocates_nothing_the_second_time) {
  const Layer layer(64, 96, 128);
  for (const Way& way : {kOwn, kOneDnn}) {
    allocator_trim();
    layer.all(way);
    const int64_t allocations = allocator_stats().system_allocations;
    layer.all(way);
    EXPECT_EQ(allocator_stats().system_allocations, allocations) << way.name;
  }
}

/// A primitive made for one number of threads is not run with another.
TEST(MatmulOneDnn, follows_the_number_of_threads) {
  const Layer layer(150, 100, 300);
  const std::vector<float> own = layer.all(kOwn);
  for (int threads : {1, 3, 2, 1}) {
    const ThreadCount count(threads);
    EXPECT_LE(largest_difference(layer.all(kOneDnn), own), 1e-4) << threads << " threads";
  }
}

int64_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(MatmulOneDnn, runs_on_the_threads_of_our_own_kernels) {
  const Layer layer(256, 256, 256);
  const ThreadCount four(4);
  layer.all(kOwn);
  const int64_t before = threads_of_process();
  ASSERT_GE(before, 4);
  layer.all(kOneDnn);
  EXPECT_LE(threads_of_process(), before);
}

TEST(MatmulOneDnn, runs_from_several_threads_at_once) {
  const Layer layers[] = {{20, 30, 40, 1}, {20, 30, 40, 5}};
  const std::vector<float> alone[] = {layers[0].all(kOneDnn), layers[1].all(kOneDnn)};
  std::vector<std::thread> threads;
  int wrong[] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) wrong[i] += layers[i].all(kOneDnn) != alone[i];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong[0] + wrong[1], 0);
}

/// More kinds of product than are kept.
TEST(MatmulOneDnn, forgets_and_starts_afresh) {
  const Layer layer(300, 2, 3);
  const std::vector<float> whole = layer.all(kOwn);
  for (int64_t m = 1; m <= layer.m; ++m) {
    const std::vector<float> first_rows(whole.begin(), whole.begin() + m * layer.n);
    ASSERT_LE(largest_difference(layer.rows(kOneDnn, 0, m), first_rows), 1e-5) << m << " rows";
  }
}

TEST(Matmul, errors) {
  float x = 0;
  EXPECT_ERROR(matmul({.m = 1, .n = 1, .k = -2, .a = &x, .b = &x, .c = &x}),
               "matmul: A has a negative size: [1, -2]");
  EXPECT_ERROR(matmul({.m = 1, .n = 1, .k = 4, .a = &x, .b = &x, .c = &x, .lda = 3}),
               "matmul: rows of A have 4 elements, but start only 3 apart");
  EXPECT_ERROR(matmul({.m = 1, .n = 5, .k = 1, .a = &x, .b = &x, .c = &x, .ldc = 2}),
               "matmul: rows of C have 5 elements, but start only 2 apart");
  const PackedMatrix packed(1, 1, &x, false);
  EXPECT_ERROR(matmul({.m = 1, .n = 2, .k = 1, .a = &x, .b = &x, .c = &x, .packed_b = &packed}),
               "matmul: packed_b must be [1, 2], got [1, 1]");
  // What `matmul` would have refused, oneDNN refuses in its own words.
  EXPECT_ERROR(matmul_onednn({.m = 2, .n = 1, .k = 4, .a = &x, .b = &x, .c = &x, .lda = 3}),
               "matmul: oneDNN failed on [2, 4] x [4, 1]: could not construct a memory descriptor "
               "using strides");
}

}  // namespace
}  // namespace loopless::testing
