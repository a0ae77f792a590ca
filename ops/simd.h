/// What CPU kernels are written with: one vector type, and exp, log and erf without a library.
///
/// Only kernel files (*_cpu.cpp) include this. They are compiled once for AVX2 and once for
/// AVX-512 inside a namespace of that name; everything here lives in that namespace too, so that
/// no AVX-512 code can be linked into a place that runs on any processor. The scalar functions
/// have no branches: a loop under `#pragma omp simd` that calls them becomes vector code.
#pragma once

#include <cstdint>

namespace loopless::LOOPLESS_ISA {

#ifdef __AVX512F__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif

/// One register of floats. Arithmetic is lane by lane. `s - Vec{}` spreads a scalar at no cost,
/// where `Vec{} + s` would really add (0 + -0 is not -0).
typedef float Vec __attribute__((vector_size(kLanes * sizeof(float))));
typedef float UnalignedVec __attribute__((vector_size(kLanes * sizeof(float)), aligned(4)));

inline Vec load(const float* p) { return *reinterpret_cast<const UnalignedVec*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<UnalignedVec*>(p) = v; }
inline Vec spread(float s) { return s - Vec{}; }
inline float sum_of(Vec v) {
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) v[i] += v[i + width];
  }
  return v[0];
}

inline int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }
inline float min_of(float a, float b) { return a < b ? a : b; }
inline float max_of(float a, float b) { return a > b ? a : b; }

/// e^x, relative error below 1.2e-7 (two ulp); 0 below -87.3, inf above 88.7; NaN stays NaN.
///
/// x = n ln 2 + r with |r| <= ln(2)/2, e^r by its Taylor polynomial of degree 7 (truncation 5e-9),
/// then 2^n in two factors, so that both ends of the range come out right.
inline float exp_f32(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer
  const float bounded = x < -87.3f ? -87.3f : (x > 89.0f ? 89.0f : x);
  const float shifted = bounded * 1.44269504f + kRound;
  const float n = shifted - kRound;
  // n as an integer stands in the last bits of the sum; a conversion of NaN would be undefined.
  const int32_t exponent =
      __builtin_bit_cast(int32_t, shifted) - __builtin_bit_cast(int32_t, kRound);
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const int32_t half = exponent >> 1;
  const float scale_a = __builtin_bit_cast(float, (half + 127) << 23);
  const float scale_b = __builtin_bit_cast(float, (exponent - half + 127) << 23);
  const float y = p * scale_a * scale_b;
  return x < -87.3f ? 0.0f : (x != x ? x : y);
}

/// ln x for positive, normal x; relative error below 2.5e-7, absolute below 1e-7 near 1.
///
/// x = 2^n f with f in [sqrt(1/2), sqrt(2)); ln f = 2 atanh(s), s = (f - 1) / (f + 1), by its
/// series.
inline float log_f32(float x) {
  const int32_t bits = __builtin_bit_cast(int32_t, x);
  const int32_t shifted = bits - 0x3f3504f3;  // bits of sqrt(1/2)
  const int32_t n = shifted >> 23;
  const float f = __builtin_bit_cast(float, (shifted & 0x007fffff) + 0x3f3504f3);
  const float s = (f - 1.0f) / (f + 1.0f);
  const float z = s * s;
  float p = 2.0f / 9;
  p = p * z + 2.0f / 7;
  p = p * z + 2.0f / 5;
  p = p * z + 2.0f / 3;
  p = p * z + 2.0f;
  const float count = static_cast<float>(n);
  return count * 0.693359375f + (s * p - count * 2.12194440e-4f);
}

/// The error function, absolute error below 1e-7; odd, and exactly +-1 beyond 4.
///
/// Polynomials fitted at Chebyshev points: erf(x) = x + x P(x^2) below 0.9, and above it
/// 1 - exp(Q(|x|)), Q = ln erfc. Both are computed, one is chosen: no branch.
inline float erf_f32(float x) {
  const float a = (x < 0.0f ? -x : x);
  const float z = x * x;
  float p = 8.39218119e-05f;
  p = p * z - 8.14838568e-04f;
  p = p * z + 5.20158140e-03f;
  p = p * z - 2.68596429e-02f;
  p = p * z + 1.12837002e-01f;
  p = p * z - 3.76126349e-01f;
  p = p * z + 1.28379166e-01f;
  const float c = a > 4.0f ? 4.0f : a;
  float q = -1.40358836e-07f;
  q = q * c + 3.38323866e-06f;
  q = q * c - 3.42042840e-05f;
  q = q * c + 1.73346416e-04f;
  q = q * c - 2.61271780e-04f;
  q = q * c - 2.52279802e-03f;
  q = q * c + 2.24908143e-02f;
  q = q * c - 1.05488770e-01f;
  q = q * c - 6.35236025e-01f;
  q = q * c - 1.12877965f;
  q = q * c + 4.98711597e-05f;
  const float far = 1.0f - exp_f32(q);
  const float signed_far = x < 0.0f ? -far : far;
  return a < 0.9f ? x + x * p : (x != x ? x : signed_far);
}

}  // namespace loopless::LOOPLESS_ISA
