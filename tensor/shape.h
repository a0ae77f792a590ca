/// Sizes of a row-major tensor: up to five dimensions, the last one contiguous.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

namespace loopless {

class Shape {
 public:
  static constexpr int kMaxRank = 5;
  static constexpr int64_t kMaxNumel = int64_t{1} << 60;  // so that bytes fit int64_t as well

  Shape() = default;
  /// Throws Error if there are more than kMaxRank sizes, or one is negative, or their product,
  /// taken from the left, exceeds kMaxNumel.
  Shape(std::initializer_list<int64_t> sizes);
  Shape(const int64_t* sizes, int rank);
  /// Whether these sizes make a shape.
  static bool is_valid(const std::vector<int64_t>& sizes);

  int rank() const { return rank_; }
  /// Size of dimension i; negative i counts from the end. Throws Error when out of range.
  int64_t operator[](int i) const;
  /// Product of all sizes; 1 for rank 0.
  int64_t numel() const;
  /// The same shape with dimension i of another size.
  Shape with(int i, int64_t size) const;
  /// The same shape without its leading dimension.
  Shape tail() const;

  bool operator==(const Shape& other) const;
  /// "[4, 128, 768]".
  std::string str() const;

 private:
  int checked_index(int i) const;

  std::array<int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace loopless
