#include "ops/rope/rope.h"

#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

namespace loopless {
namespace {

/// Of positions 0, 1, ..., as the kernel reads them: [positions, rotated_dims].
struct Table {
  Tensor cosines, sines;
};

Table compute_table(int64_t positions, int64_t rotated_dims, double base) {
  const Table table = {Tensor::empty({positions, rotated_dims}),
                       Tensor::empty({positions, rotated_dims})};
  for (int64_t c = 0; c < rotated_dims; c += 2) {
    const double frequency = std::pow(base, -static_cast<double>(c) / rotated_dims);
    for (int64_t t = 0; t < positions; ++t) {
      float* cosines = table.cosines.data() + t * rotated_dims + c;
      float* sines = table.sines.data() + t * rotated_dims + c;
      cosines[0] = cosines[1] = static_cast<float>(std::cos(t * frequency));
      sines[1] = static_cast<float>(std::sin(t * frequency));
      sines[0] = -sines[1];
    }
  }
  return table;
}

/// At least `positions` rows. Kept from call to call, so that a training step computes none; grows
/// by doubling. Handles of an outgrown table stay valid.
Table table_of(int64_t positions, int64_t rotated_dims, double base) {
  static std::mutex mutex;
  static std::map<std::pair<int64_t, double>, Table> tables;
  const std::lock_guard lock(mutex);
  Table& table = tables[{rotated_dims, base}];
  if (!table.cosines.defined() || table.cosines.size(0) < positions) {
    const auto rows = std::bit_ceil(static_cast<uint64_t>(positions));
    table = compute_table(static_cast<int64_t>(rows), rotated_dims, base);
  }
  return table;
}

void check_inputs(const Tensor& x, const RopeOptions& options) {
  check_dtype("rope", "x", x);
  const int64_t head_size = options.head_size, dims = options.rotated_dims;
  CHECK(head_size > 0, "rope: head_size must be positive, got ", head_size);
  CHECK(x.rank() == 3 && x.size(2) % head_size == 0, "rope: x must be [B, T, N * ", head_size,
        "], got ", x.shape());
  CHECK(dims > 0 && dims % 2 == 0 && dims <= head_size,
        "rope: rotated_dims must be even and within 2 to ", head_size, ", got ", dims);
  CHECK(options.rotated_heads >= 0 && options.rotated_heads <= x.size(2) / head_size,
        "rope: rotated_heads must be within 0 to ", x.size(2) / head_size, ", got ",
        options.rotated_heads);
  CHECK(options.first_position >= 0, "rope: first_position must not be negative, got ",
        options.first_position);
  CHECK(options.base > 0, "rope: base must be positive, got ", options.base);
}

/// Turns x in place, or a copy of it where somebody else holds its storage. Outside the graph.
Tensor turned(const Tensor& x, const Table& table, const RopeOptions& options, float direction) {
  const Tensor y = x.is_shared() ? x.clone() : x.view(x.shape());
  const int64_t first = options.first_position * options.rotated_dims;
  rope_cpu({.x = y.data(),
            .cosines = table.cosines.data() + first,
            .sines = table.sines.data() + first,
            .sequences = y.size(0),
            .length = y.size(1),
            .stride = y.size(2),
            .heads = options.rotated_heads,
            .head_size = options.head_size,
            .rotated_dims = options.rotated_dims,
            .direction = direction});
  return y;
}

}  // namespace

Tensor rope(Tensor x, const RopeOptions& options) {
  check_inputs(x, options);
  const Table table =
      table_of(options.first_position + x.size(1), options.rotated_dims, options.base);
  const Tensor y = turned(x, table, options, 1.0f);

  return record("rope", y, {x}, [=](const Tensor& dy, Gradients d) {
    if (d[0].wanted()) d[0].take(turned(dy, table, options, -1.0f));
  });
}

}  // namespace loopless
