#include "ops/rope/rope.h"

#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

namespace loopless {
namespace {

/// Cosines and sines of positions 0, 1, ...: [positions, rotated_dims / 2].
struct Table {
  Tensor cosines, sines;
};

Table compute_table(int64_t positions, int64_t rotated_dims, double base) {
  const int64_t pairs = rotated_dims / 2;
  const Table table = {Tensor::empty({positions, pairs}), Tensor::empty({positions, pairs})};
  for (int64_t i = 0; i < pairs; ++i) {
    const double frequency = std::pow(base, -2.0 * i / rotated_dims);
    for (int64_t t = 0; t < positions; ++t) {
      table.cosines.data()[t * pairs + i] = static_cast<float>(std::cos(t * frequency));
      table.sines.data()[t * pairs + i] = static_cast<float>(std::sin(t * frequency));
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
  const int64_t pairs = options.rotated_dims / 2, first = options.first_position * pairs;
  rope_cpu({.x = y.data(),
            .cosines = table.cosines.data() + first,
            .sines = table.sines.data() + first,
            .sequences = y.size(0),
            .length = y.size(1),
            .stride = y.size(2),
            .heads = options.rotated_heads,
            .head_size = options.head_size,
            .pairs = pairs,
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
