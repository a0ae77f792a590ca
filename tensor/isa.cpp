#include "tensor/isa.h"

#include <cstdlib>
#include <string_view>

#include "tensor/error.h"

namespace loopless {
namespace {

bool cpu_has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

bool choose_avx512() {
  const char* variable = std::getenv("LOOPLESS_ISA");
  const std::string_view asked = variable ? variable : "";
  CHECK(asked.empty() || asked == "avx2" || asked == "avx512",
        "LOOPLESS_ISA: must be avx2 or avx512, got \"", asked, "\"");
  if (asked == "avx2") return false;
  CHECK(asked.empty() || cpu_has_avx512(),
        "LOOPLESS_ISA: avx512 is not available on this processor, which has avx2");
  return cpu_has_avx512();
}

}  // namespace

bool use_avx512() {
  static const bool chosen = choose_avx512();
  return chosen;
}

const char* isa_name() { return use_avx512() ? "avx512" : "avx2"; }

}  // namespace loopless
