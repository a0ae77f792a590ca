#include "tensor/shape.h"

#include <algorithm>

#include "tensor/error.h"

namespace loopless {
namespace {

/// The product of the sizes, or -1 where it exceeds Shape::kMaxNumel.
int64_t bounded_product(const int64_t* sizes, int rank) {
  int64_t product = 1;
  for (int i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(product, sizes[i], &product) || product > Shape::kMaxNumel)
      return -1;
  }
  return product;
}

}  // namespace

Shape::Shape(std::initializer_list<int64_t> sizes)
    : Shape(sizes.begin(), static_cast<int>(sizes.size())) {}

Shape::Shape(const int64_t* sizes, int rank) : rank_(rank) {
  CHECK(rank >= 0 && rank <= kMaxRank, "shape: at most ", kMaxRank, " dimensions, got ", rank);
  for (int i = 0; i < rank; ++i) sizes_[i] = sizes[i];
  for (int64_t size : sizes_) CHECK(size >= 0, "shape: sizes must not be negative, got ", str());
  CHECK(bounded_product(sizes, rank) >= 0, "shape: ", str(), " has more than 2^60 elements");
}

bool Shape::is_valid(const std::vector<int64_t>& sizes) {
  return sizes.size() <= kMaxRank &&
         std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size >= 0; }) &&
         bounded_product(sizes.data(), static_cast<int>(sizes.size())) >= 0;
}

int Shape::checked_index(int i) const {
  const int index = i < 0 ? i + rank_ : i;
  CHECK(index >= 0 && index < rank_, "shape: dimension ", i, " of ", str(), " does not exist");
  return index;
}

int64_t Shape::operator[](int i) const { return sizes_[checked_index(i)]; }

int64_t Shape::numel() const {
  int64_t product = 1;
  for (int i = 0; i < rank_; ++i) product *= sizes_[i];
  return product;
}

Shape Shape::with(int i, int64_t size) const {
  Shape changed = *this;
  changed.sizes_[checked_index(i)] = size;
  return Shape(changed.sizes_.data(), changed.rank_);
}

Shape Shape::tail() const {
  CHECK(rank_ > 0, "shape: a scalar has no leading dimension");
  return Shape(sizes_.data() + 1, rank_ - 1);
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && sizes_ == other.sizes_;
}

std::string Shape::str() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) text += (i ? ", " : "") + std::to_string(sizes_[i]);
  return text + "]";
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.str(); }

}  // namespace loopless
