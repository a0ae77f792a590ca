// Refuses to start where the processor lacks what the rest is compiled for, in place of a crash at
// the first such instruction. Hence this file alone is compiled for plain x86-64, calls nothing
// inline from a header (the linker might pick the AVX2 body of it), and runs before every other
// initialiser of the program. It is linked as an object: nothing refers to it.
#include <cstdio>
#include <unistd.h>

namespace {

__attribute__((constructor(101))) void require_avx2() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return;
  std::fputs("loopless: this processor lacks AVX2 and FMA, which every loopless binary needs\n",
             stderr);
  _exit(1);
}

}  // namespace
