#include "tools/element_summary.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace loopless {
namespace {

double value_of(float x) { return x; }
double value_of(int32_t x) { return x; }
double value_of(uint8_t x) { return x; }
double value_of(BF16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
ElementSummary summarize(const std::byte* raw, int64_t count) {
  ElementSummary summary;
  summary.count = count;
  bool is_first = true;
  for (int64_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, raw + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    const double x = value_of(element);
    if (!std::isfinite(x)) {
      ++summary.nonfinite;
      continue;
    }
    summary.sum += x;
    summary.sum_of_squares += x * x;
    summary.min = is_first ? x : std::min(summary.min, x);
    summary.max = is_first ? x : std::max(summary.max, x);
    is_first = false;
  }
  return summary;
}

}  // namespace

double ElementSummary::norm() const { return std::sqrt(sum_of_squares); }
double ElementSummary::rms() const {
  return finite() ? std::sqrt(sum_of_squares / static_cast<double>(finite())) : 0;
}

void ElementSummary::add(const ElementSummary& other) {
  if (other.finite() > 0) {
    min = finite() ? std::min(min, other.min) : other.min;
    max = finite() ? std::max(max, other.max) : other.max;
  }
  count += other.count;
  nonfinite += other.nonfinite;
  sum += other.sum;
  sum_of_squares += other.sum_of_squares;
}

ElementSummary summarize_elements(const std::byte* raw, DType dtype, int64_t count) {
  switch (dtype) {
    case kF32:
      return summarize<float>(raw, count);
    case kBF16:
      return summarize<BF16>(raw, count);
    case kI32:
      return summarize<int32_t>(raw, count);
    case kU8:
      return summarize<uint8_t>(raw, count);
  }
  return {};
}

}  // namespace loopless
