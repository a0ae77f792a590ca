/// Which instruction set the CPU kernels run with, and how a kernel is declared for both.
///
/// Everything is compiled for AVX2 and FMA. A kernel file (`*_cpu.cpp`) is compiled a second time
/// for AVX-512; its code sits in `namespace loopless::LOOPLESS_ISA`, which is `avx2` in the one
/// object and `avx512` in the other. The choice is made once, at the first call.
#pragma once

namespace loopless {

/// Whether kernels run with AVX-512: the processor has it (F, BW, CD, DQ, VL) and the environment
/// variable LOOPLESS_ISA does not say "avx2".
/// Throws Error if LOOPLESS_ISA is neither empty, "avx2" nor "avx512", or asks for an instruction
/// set that the processor lacks.
bool use_avx512();

/// "avx2" or "avx512", for logs.
const char* isa_name();

}  // namespace loopless

/// Declares `void name(const Args&)` for both instruction sets, and a function of the same name
/// that calls the chosen one. In an op's header, inside namespace loopless:
///   CPU_KERNEL(rms_norm_forward_cpu, RmsNormForward);
#define CPU_KERNEL(name, Args)                                        \
  namespace avx2 {                                                    \
  void name(const Args& args);                                        \
  }                                                                   \
  namespace avx512 {                                                  \
  void name(const Args& args);                                        \
  }                                                                   \
  inline void name(const Args& args) {                                \
    ::loopless::use_avx512() ? avx512::name(args) : avx2::name(args); \
  }
