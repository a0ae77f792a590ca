#include "train/columns.h"

#include <algorithm>
#include <cstring>

#include "tensor/philox.h"

namespace loopless {
namespace {

constexpr uint64_t kUnifStream = 0x756e6966;  // apart from the streams of data and initial values

void check_columns(const Tensor& ids, int64_t first, int64_t count) {
  CHECK(ids.rank() == 2 && first >= 0 && count >= 0 && first + count <= ids.size(1), "columns: [",
        first, ", ", first, " + ", count, ") are outside ", ids.shape());
}

}  // namespace

Tensor columns(const Tensor& ids, int64_t first, int64_t count) {
  check_columns(ids, first, count);
  const Tensor result = Tensor::empty({ids.size(0), count}, kI32);
  copy_columns(ids, first, result);
  return result;
}

void copy_columns(const Tensor& ids, int64_t first, const Tensor& into) {
  const int64_t count = into.size(1);
  check_columns(ids, first, count);
  const int32_t* from = ids.data<int32_t>() + first;
  int32_t* to = into.data<int32_t>();
  for (int64_t b = 0; b < ids.size(0); ++b) {
    std::copy_n(from + b * ids.size(1), count, to + b * count);
  }
}

Tensor transposed_columns(const Tensor& ids, int64_t first, int64_t count) {
  check_columns(ids, first, count);
  const int64_t batch = ids.size(0), length = ids.size(1);
  const Tensor result = Tensor::empty({count, batch}, kI32);
  for (int64_t t = 0; t < count; ++t) {
    for (int64_t b = 0; b < batch; ++b) {
      result.data<int32_t>()[t * batch + b] = ids.data<int32_t>()[b * length + first + t];
    }
  }
  return result;
}

bool has_padding(const Tensor& ids) {
  const int32_t* first = ids.data<int32_t>();
  return std::any_of(first, first + ids.numel(), [](int32_t id) { return id < 0; });
}

Tensor without_padding(const Tensor& ids) {
  const Tensor result = ids.clone();
  int32_t* first = result.data<int32_t>();
  std::replace_if(
      first, first + ids.numel(), [](int32_t id) { return id < 0; }, 0);
  return result;
}

Tensor draw_rows(int64_t total, int64_t count, DrawKey draw) {
  const Philox philox(draw.seed, kUnifStream + (static_cast<uint64_t>(draw.step) << 32));
  const auto rows = sample_without_replacement(philox, total, count);
  return Tensor::from({count}, std::vector<int32_t>(rows.begin(), rows.end()));
}

}  // namespace loopless
