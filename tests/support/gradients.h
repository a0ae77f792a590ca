/// Gradients of whole models, compared parameter by parameter.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/parameters.h"
#include "tests/support/op_test.h"
#include "train/method.h"

namespace loopless::testing {

using GradientsByName = std::map<std::string, std::vector<float>>;

inline GradientsByName gradients_of(const FlatParameters& parameters) {
  GradientsByName gradients;
  for (const FlatParameters::Entry& entry : parameters.entries()) {
    if (entry.grad.defined()) gradients[entry.name] = entry.grad.to_vector();
  }
  return gradients;
}

/// The gradient of a batch, computed in pieces.
inline GradientsByName gradients_in_pieces(Method& method, const Windows& windows, int64_t pieces) {
  const FlatParameters parameters(method.groups());
  const int64_t batch = windows.x.size(0);
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t begin = i * batch / pieces;
    method.run(windows, {begin, (i + 1) * batch / pieces - begin}, {});
  }
  return gradients_of(parameters);
}

/// Each parameter's gradients differ by at most `tolerance` of its largest value.
inline void expect_same_gradients(const GradientsByName& a, const GradientsByName& b,
                                  double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, gradient] : a) {
    EXPECT_LE(largest_difference(gradient, b.at(name)), tolerance * largest_magnitude(gradient))
        << name;
  }
}

}  // namespace loopless::testing
