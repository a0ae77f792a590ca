/// What the elements of an array are like: size, range, and what should not be there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/types.h"

namespace loopless {

/// Over the finite elements; of a tensor, or of several together.
struct ElementSummary {
  int64_t count = 0;      // all elements
  int64_t nonfinite = 0;  // NaN and infinities among them
  double sum = 0;
  double sum_of_squares = 0;
  double min = 0, max = 0;  // 0 where there is no finite element

  int64_t finite() const { return count - nonfinite; }
  double mean() const { return finite() ? sum / static_cast<double>(finite()) : 0; }
  double norm() const;  // Euclidean
  double rms() const;   // root of the mean square
  void add(const ElementSummary& other);
};

/// Reads `count` elements at `raw`, which need not be aligned.
ElementSummary summarize_elements(const std::byte* raw, DType dtype, int64_t count);

}  // namespace loopless
