/// Element types and devices.
#pragma once

#include <cstdint>
#include <ostream>

namespace loopless {

enum class DType : uint8_t { kF32, kBF16, kI32, kU8 };
inline constexpr DType kF32 = DType::kF32;
inline constexpr DType kBF16 = DType::kBF16;
inline constexpr DType kI32 = DType::kI32;
inline constexpr DType kU8 = DType::kU8;

/// Size of one element, in bytes.
int64_t size_of(DType dtype);
/// "f32", "bf16", "i32", "u8".
const char* name_of(DType dtype);
std::ostream& operator<<(std::ostream& out, DType dtype);

/// Bits of a bfloat16: the upper half of a float.
struct BF16 {
  uint16_t bits;
};

/// Where a tensor's elements live. CUDA devices are numbered from 0.
struct Device {
  enum class Kind : uint8_t { kCPU, kCUDA };
  Kind kind = Kind::kCPU;
  int index = 0;
  bool operator==(const Device&) const = default;
};
inline constexpr Device kCPU{};
std::ostream& operator<<(std::ostream& out, Device device);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = kF32;
};
template <>
struct DTypeOf<BF16> {
  static constexpr DType value = kBF16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = kI32;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = kU8;
};

}  // namespace loopless
