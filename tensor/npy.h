/// NumPy's .npy files: one array of f4, i4 or u1, little-endian, C order, at most five dimensions;
/// format versions 1.0, 2.0 and 3.0.
///
/// A file is refused, with one line that names it and says what to do, unless every field of its
/// header is understood and its size is exactly the header's and the elements'.
///
/// Source   NumPy documentation, numpy.lib.format.
#pragma once

#include <string>

#include "tensor/file.h"
#include "tensor/tensor.h"

namespace loopless {

/// The elements of an .npy file where they are: mapped, read-only, never copied. For data sets
/// that are larger than memory. Moved, not copied.
class NpyMap {
 public:
  /// Throws Error "PATH: cannot open: REASON" or "PATH: what is wrong with it".
  explicit NpyMap(std::string path);

  const std::string& path() const { return file_.path(); }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t numel() const { return shape_.numel(); }
  const std::byte* raw() const { return file_.data() + offset_; }
  /// The first element. Throws Error if T is not the file's element type.
  template <class T>
  const T* data() const;

 private:
  MappedFile file_;
  int64_t offset_ = 0;  // bytes before the first element
  DType dtype_ = kF32;
  Shape shape_;
};

/// The whole array, copied. Throws Error as NpyMap does.
Tensor read_npy(const std::string& path);
/// Writes f32, i32 or u8, atomically (tensor/file.h).
void write_npy(const std::string& path, const Tensor& x);

template <class T>
const T* NpyMap::data() const {
  CHECK(dtype_ == DTypeOf<T>::value, path(), ": elements are ", dtype_, ", not ",
        DTypeOf<T>::value);
  return reinterpret_cast<const T*>(raw());
}

}  // namespace loopless
