/// What a step trains on.
#pragma once

#include "tensor/tensor.h"

namespace loopless {

/// Windows of a data set: x the inputs, y the next tokens, both i32 [B, T]. A token -1 is padding,
/// a target -1 is ignored.
struct Windows {
  Tensor x;
  Tensor y;
};

}  // namespace loopless
