#include "train/finite.h"

#include <cmath>

namespace loopless {

std::string what_weight_is_not_finite(const FlatParameters& parameters) {
  for (const FlatParameters::Entry& entry : parameters.entries()) {
    if (const int64_t bad = count_not_finite(entry.value)) {
      return "the parameter " + entry.name + " holds " + std::to_string(bad) +
             " values that are not finite numbers";
    }
  }
  return "";
}

std::string what_is_not_finite(const FlatParameters& parameters, double loss) {
  const std::string weight = what_weight_is_not_finite(parameters);
  if (!weight.empty()) return weight;
  for (const FlatParameters::Entry& entry : parameters.entries()) {
    if (!entry.grad.defined()) continue;
    if (const int64_t bad = count_not_finite(entry.grad)) {
      return "the gradient of " + entry.name + " holds " + std::to_string(bad) +
             " values that are not finite numbers";
    }
  }
  if (!std::isfinite(loss)) return "the loss is " + std::to_string(loss);
  return "";
}

}  // namespace loopless
