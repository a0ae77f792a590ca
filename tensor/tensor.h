/// Tensor: a shape, an element type and a place in shared storage. Row-major and contiguous.
///
/// Copying a Tensor copies a handle: both name the same elements. `view` (another shape) and
/// `view_rows` (a range of the leading dimension) are free and stay outside the graph; their
/// differentiable forms are `reshape` and `rows` (autograd/autograd.h). Whatever else would need
/// strides is an op in ops/.
/// There is no implicit broadcasting and no implicit change of type or device.
#pragma once

#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "tensor/error.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tensor/types.h"

namespace loopless {

/// The tensor's place in the autograd graph (autograd/autograd.h); null when nothing is recorded.
struct GradMeta;

class Tensor {
 public:
  /// Undefined: stands for "none" (a linear layer without bias).
  Tensor() = default;

  static Tensor empty(const Shape& shape, DType dtype = kF32, Device device = kCPU);
  static Tensor empty_like(const Tensor& like);
  static Tensor zeros(const Shape& shape, DType dtype = kF32, Device device = kCPU);
  /// All elements `value`; f32.
  static Tensor full(const Shape& shape, float value, Device device = kCPU);
  /// Copies `values` in row-major order. Throws Error if their number is not shape.numel().
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values);

  bool defined() const { return storage_ != nullptr; }
  explicit operator bool() const { return defined(); }

  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t size(int i) const { return shape_[i]; }
  int64_t numel() const { return numel_; }
  int64_t bytes() const { return numel_ * size_of(dtype_); }
  /// Product of all dimensions but the last, 1 for rank 1 and 0.
  int64_t row_count() const;
  /// Size of the last dimension, 1 for rank 0.
  int64_t columns() const;
  DType dtype() const { return dtype_; }
  /// Throws Error if the tensor is undefined.
  Device device() const;

  /// The first element. Throws Error if T is not the tensor's element type.
  template <class T = float>
  T* data() const;
  std::byte* raw() const { return storage_->data() + offset_; }

  /// The same elements under another shape, outside the graph. Throws Error if the number of
  /// elements differs.
  Tensor view(const Shape& shape) const;
  /// Elements [begin, begin + count) of the leading dimension, outside the graph.
  Tensor view_rows(int64_t begin, int64_t count) const;

  /// A new tensor with the same elements. Not recorded.
  Tensor clone() const;
  /// Overwrites the elements with those of `source` (same shape and type). Not recorded.
  void copy_from(const Tensor& source) const;
  /// Overwrites all elements with zero bytes. Not recorded.
  void zero() const;
  /// All elements, row-major, on the host.
  template <class T = float>
  std::vector<T> to_vector() const;
  /// The only element. Throws Error if there is not exactly one f32 element.
  float item() const;

  /// Whether another handle shares the storage (a view, a saved copy).
  bool is_shared() const { return storage_.use_count() > 1; }
  /// Whether both handles name elements of one storage.
  bool shares_storage_with(const Tensor& other) const { return storage_ == other.storage_; }

  /// Autograd's handle; kernels and I/O never look at it.
  const std::shared_ptr<GradMeta>& grad_meta() const { return grad_meta_; }
  void set_grad_meta(std::shared_ptr<GradMeta> meta) { grad_meta_ = std::move(meta); }

 private:
  Tensor view_at(const Shape& shape, int64_t byte_offset) const;

  std::shared_ptr<Storage> storage_;
  int64_t offset_ = 0;  // bytes
  Shape shape_;
  int64_t numel_ = 0;
  DType dtype_ = kF32;
  std::shared_ptr<GradMeta> grad_meta_;
};

template <class T>
T* Tensor::data() const {
  CHECK(defined(), "tensor: an undefined tensor has no data");
  CHECK(dtype_ == DTypeOf<std::remove_const_t<T>>::value, "tensor: elements are ", dtype_, ", not ",
        DTypeOf<std::remove_const_t<T>>::value);
  return reinterpret_cast<T*>(raw());
}

template <class T>
Tensor Tensor::from(const Shape& shape, const std::vector<T>& values) {
  CHECK(shape.numel() == static_cast<int64_t>(values.size()), "tensor: ", values.size(),
        " values do not fill ", shape);
  Tensor result = empty(shape, DTypeOf<T>::value);
  if (!values.empty()) std::memcpy(result.raw(), values.data(), result.bytes());
  return result;
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const T* first = data<T>();
  return std::vector<T>(first, first + numel_);
}

/// Throws Error "`op`: `name` must be `shape`, got ..." unless x is such a tensor.
void check_tensor(const char* op, const char* name, const Tensor& x, const Shape& shape,
                  DType dtype = kF32);
/// The same for any shape: defined and of that type.
void check_dtype(const char* op, const char* name, const Tensor& x, DType dtype = kF32);

}  // namespace loopless
