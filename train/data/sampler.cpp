#include "train/data/sampler.h"

#include <algorithm>
#include <utility>

#include "tensor/error.h"
#include "tensor/philox.h"

namespace loopless {
namespace {

constexpr uint64_t kWindowStream = 0x77696e64;  // apart from initial values and other draws

/// The number of places where a window can start: it reads T + 1 tokens.
int64_t count_starts(const Tokens& tokens, int64_t T) {
  CHECK(T > 0, "windows: T must be at least 1, got ", T);
  CHECK(tokens.size > T, tokens.name, ": a split of ", tokens.size,
        " tokens is shorter than one window of T + 1 = ", T + 1, "; use a smaller T or more data");
  return tokens.size - T;
}

template <class StartOf>
Windows cut_windows(const Tokens& tokens, int64_t T, int64_t count, const StartOf& start_of) {
  Windows windows{Tensor::empty({count, T}, kI32), Tensor::empty({count, T}, kI32)};
  for (int64_t row = 0; row < count; ++row) {
    const uint8_t* first = tokens.data + start_of(row);
    std::copy(first, first + T, windows.x.data<int32_t>() + row * T);
    std::copy(first + 1, first + 1 + T, windows.y.data<int32_t>() + row * T);
  }
  return windows;
}

}  // namespace

Windows sample_windows(const Tokens& tokens, int64_t T, int64_t batch, uint64_t seed, int64_t step,
                       int64_t first_row) {
  const int64_t starts = count_starts(tokens, T);
  const Philox random(seed, kWindowStream);
  // Steps and rows are below 2^31, so no two of them share an index.
  const uint64_t first_index = (static_cast<uint64_t>(step) << 31) + first_row;
  return cut_windows(tokens, T, batch,
                     [&](int64_t row) { return random.below(first_index + row, starts); });
}

Windows fixed_windows(const Tokens& tokens, int64_t T, int64_t count) {
  const int64_t starts = count_starts(tokens, T);
  const int64_t windows = std::min(count, starts);
  return cut_windows(tokens, T, windows, [&](int64_t row) { return row * starts / windows; });
}

}  // namespace loopless
