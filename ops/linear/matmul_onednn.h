/// The product of ops/linear/matmul.h by oneDNN's matmul primitive.
#pragma once

#include "ops/linear/matmul.h"

namespace loopless {

/// For sizes that `matmul` accepts, from any thread; packed_b is not looked at. The first product
/// of its sizes, layouts and number of threads makes a primitive and keeps it for the next ones;
/// these cost about 1 us beside the product.
/// Throws Error with the sizes if oneDNN reports a failure.
void matmul_onednn(const Matmul& args);

}  // namespace loopless
