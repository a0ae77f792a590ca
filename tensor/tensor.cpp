#include "tensor/tensor.h"

namespace loopless {

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  Tensor result;
  result.shape_ = shape;
  result.numel_ = shape.numel();
  result.dtype_ = dtype;
  result.storage_ = std::make_shared<Storage>(result.bytes(), device);
  return result;
}

Tensor Tensor::empty_like(const Tensor& like) {
  return empty(like.shape(), like.dtype(), like.device());
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  Tensor result = empty(shape, dtype, device);
  result.zero();
  return result;
}

Tensor Tensor::full(const Shape& shape, float value, Device device) {
  Tensor result = empty(shape, kF32, device);
  float* elements = result.data();
  for (int64_t i = 0; i < result.numel(); ++i) elements[i] = value;
  return result;
}

int64_t Tensor::row_count() const {
  int64_t count = 1;
  for (int i = 0; i + 1 < rank(); ++i) count *= shape_[i];
  return count;
}

int64_t Tensor::columns() const { return rank() == 0 ? 1 : shape_[-1]; }

Device Tensor::device() const {
  CHECK(defined(), "tensor: an undefined tensor has no device");
  return storage_->device();
}

Tensor Tensor::view_at(const Shape& shape, int64_t byte_offset) const {
  Tensor result;
  result.storage_ = storage_;
  result.offset_ = offset_ + byte_offset;
  result.shape_ = shape;
  result.numel_ = shape.numel();
  result.dtype_ = dtype_;
  return result;
}

Tensor Tensor::view(const Shape& shape) const {
  CHECK(defined(), "view: the tensor is undefined");
  CHECK(shape.numel() == numel(), "view: ", shape_, " has ", numel(), " elements, ", shape, " has ",
        shape.numel());
  return view_at(shape, 0);
}

Tensor Tensor::view_rows(int64_t begin, int64_t count) const {
  CHECK(defined(), "view_rows: the tensor is undefined");
  CHECK(rank() > 0, "view_rows: a scalar has no rows");
  CHECK(begin >= 0 && count >= 0 && count <= shape_[0] - begin, "view_rows: rows [", begin, ", ",
        begin, " + ", count, ") are outside ", shape_);
  const int64_t row_bytes = shape_[0] == 0 ? 0 : bytes() / shape_[0];
  return view_at(shape_.with(0, count), begin * row_bytes);
}

Tensor Tensor::clone() const {
  Tensor result = empty_like(*this);
  result.copy_from(*this);
  return result;
}

void Tensor::copy_from(const Tensor& source) const {
  CHECK(defined() && source.defined(), "copy_from: a tensor is undefined");
  CHECK(source.shape() == shape_ && source.dtype() == dtype_, "copy_from: the target is ", dtype_,
        " ", shape_, ", the source ", source.dtype(), " ", source.shape());
  if (numel_ > 0) std::memcpy(raw(), source.raw(), bytes());
}

void Tensor::zero() const {
  if (numel_ > 0) std::memset(raw(), 0, bytes());
}

float Tensor::item() const {
  CHECK(numel() == 1, "item: needs exactly one element, got ", shape_);
  return *data<float>();
}

void check_tensor(const char* op, const char* name, const Tensor& x, const Shape& shape,
                  DType dtype) {
  check_dtype(op, name, x, dtype);
  CHECK(x.shape() == shape, op, ": ", name, " must be ", shape, ", got ", x.shape());
}

void check_dtype(const char* op, const char* name, const Tensor& x, DType dtype) {
  CHECK(x.defined(), op, ": ", name, " is undefined");
  CHECK(x.dtype() == dtype, op, ": ", name, " must be ", dtype, ", got ", x.dtype());
}

}  // namespace loopless
