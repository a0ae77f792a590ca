#include "models/initializer.h"

#include <cmath>

namespace loopless {

Tensor Initializer::linear(const Shape& shape, int64_t fan_in) {
  Tensor values = Tensor::empty(shape);
  const float bound = 1.0f / std::sqrt(static_cast<float>(fan_in));
  fill_uniform(values, Philox(seed_, next_stream_++), -bound, bound);
  return values;
}

Tensor Initializer::normal(const Shape& shape) {
  Tensor values = Tensor::empty(shape);
  fill_normal(values, Philox(seed_, next_stream_++), 0.0f, 1.0f);
  return values;
}

}  // namespace loopless
