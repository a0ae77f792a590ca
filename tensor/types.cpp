#include "tensor/types.h"

namespace loopless {

int64_t size_of(DType dtype) {
  switch (dtype) {
    case kF32:
    case kI32:
      return 4;
    case kBF16:
      return 2;
    case kU8:
      return 1;
  }
  return 0;
}

const char* name_of(DType dtype) {
  switch (dtype) {
    case kF32:
      return "f32";
    case kBF16:
      return "bf16";
    case kI32:
      return "i32";
    case kU8:
      return "u8";
  }
  return "?";
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

std::ostream& operator<<(std::ostream& out, Device device) {
  if (device.kind == Device::Kind::kCPU) return out << "cpu";
  return out << "cuda:" << device.index;
}

}  // namespace loopless
