/// Checks that an op gives the same bytes for any number of threads.
#pragma once

#include <cstring>
#include <omp.h>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/op_test.h"

namespace loopless::testing {

/// While one lives, parallel regions have `count` threads.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

/// y, then the gradients of all inputs for a random dy, computed by `threads` threads.
template <class Op>
std::vector<std::vector<float>> results_with_threads(int threads, const Op& op,
                                                     const std::vector<Tensor>& inputs) {
  const ThreadCount thread_count(threads);
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) leaves.push_back(leaf(input.clone()));
  const Tensor y = op(leaves);
  backward_from(y, random_tensor(y.shape(), 11));
  std::vector<std::vector<float>> results{y.to_vector()};
  for (const Tensor& x : leaves) results.push_back(grad_of(x).to_vector());
  return results;
}

/// One, two and three threads give the same bytes, forward and backward. `inputs` must be large
/// enough for the op to use more than one.
template <class Op>
void expect_same_for_any_threads(const Op& op, const std::vector<Tensor>& inputs) {
  const auto alone = results_with_threads(1, op, inputs);
  for (int threads = 2; threads <= 3; ++threads) {
    const auto together = results_with_threads(threads, op, inputs);
    for (size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(std::memcmp(alone[i].data(), together[i].data(), alone[i].size() * sizeof(float)),
                0)
          << (i == 0 ? "y" : "the gradient of an input") << " with " << threads << " threads";
    }
  }
}

}  // namespace loopless::testing
