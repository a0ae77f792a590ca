#pragma once

#include <vector>

#include "autograd/autograd.h"

namespace loopless {

/// y = concat_rows(inputs): the inputs one after the other along the leading dimension.
///
///   y[o_i + r] = inputs[i][r],   o_i = b_0 + ... + b_{i-1}
///   dinputs[i] = dy[o_i : o_i + b_i]
///
/// Shapes   inputs[i] [b_i, ...], equal in all but the leading size -> y [sum b_i, ...].
/// Types    inputs, y: all equal; only f32 has a gradient.
/// Saves    nothing.
/// Throws   Error if there is no input, one has rank 0, or types or trailing sizes differ.
/// Numerics exact; the gradients are views of dy, handed on without a copy. Each input is one copy
///          of consecutive bytes (Tensor::copy_from), so this op has no kernel of its own.
/// Source   elementary.
Tensor concat_rows(const std::vector<Tensor>& inputs);

}  // namespace loopless
