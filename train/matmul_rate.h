/// How fast this machine multiplies matrices right now: what a step's time is compared with.
#pragma once

namespace loopless {

/// The best rate, in FLOP per second, of a few fp32 products of 2176 x 1536 x 256 and 1024^3,
/// taken with the threads that are set. Takes about a tenth of a second.
double matmul_rate();

}  // namespace loopless
