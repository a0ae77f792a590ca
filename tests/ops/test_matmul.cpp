#include <cstring>

#include "ops/linear/matmul.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

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
  Stored c = random_matrix(t.m, t.n, t.gap, 3);
  const std::vector<float> bias = random_tensor({t.n}, 4).to_vector();
  const std::vector<double> truth = naive<double>(t, a, b, c, bias);
  const std::vector<float> in_float = naive<float>(t, a, b, c, bias);

  const PackedMatrix packed(t.n, t.k, b.values.data(), t.transpose_b, b.ld);
  matmul({.m = t.m,
          .n = t.n,
          .k = t.k,
          .a = a.values.data(),
          .transpose_a = t.transpose_a,
          .b = t.is_packed ? nullptr : b.values.data(),
          .transpose_b = t.transpose_b,
          .c = c.values.data(),
          .bias = t.has_bias ? bias.data() : nullptr,
          .accumulate = t.accumulate,
          .lda = a.ld,
          .ldb = b.ld,
          .ldc = c.ld,
          .packed_b = t.is_packed ? &packed : nullptr});
  EXPECT_LE(largest_difference(c.values, truth),
            2 * largest_difference(in_float, truth) + ulp(largest_magnitude(truth)))
      << t;
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

/// A row of C depends on the same row of A alone, so work can be cut anywhere without changing a
/// bit: one step of a recurrence at a time, or all of them at once.
TEST(Matmul, rows_do_not_depend_on_each_other) {
  const int64_t m = 41, n = 50, k = 700;
  const std::vector<float> a = random_tensor({m, k}, 1).to_vector();
  const std::vector<float> b = random_tensor({n, k}, 2).to_vector();
  std::vector<float> together(m * n), alone(n);
  matmul({.m = m,
          .n = n,
          .k = k,
          .a = a.data(),
          .b = b.data(),
          .transpose_b = true,
          .c = together.data()});
  for (int64_t i = 0; i < m; ++i) {
    matmul({.m = 1,
            .n = n,
            .k = k,
            .a = &a[i * k],
            .b = b.data(),
            .transpose_b = true,
            .c = alone.data()});
    EXPECT_EQ(std::memcmp(alone.data(), &together[i * n], n * sizeof(float)), 0) << "row " << i;
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
}

}  // namespace
}  // namespace loopless::testing
