/// How much memory the process holds, counted where it is asked for.
#pragma once

#include <cstdint>

namespace loopless::testing {

/// Forgets the peak: it is now what is held.
void reset_peak_memory();
/// Bytes by which the most that was held since then exceeds what was held then. Counts operator
/// new and the blocks of tensors; not what C libraries take by themselves.
int64_t peak_memory();

}  // namespace loopless::testing
