#include "ops/weighted_sum/weighted_sum.h"

#include <string>

namespace loopless {
namespace {

void check_inputs(const std::vector<Tensor>& terms, const std::vector<double>& weights) {
  CHECK(!terms.empty() && terms.size() <= kMaxWeightedTerms, "weighted_sum: needs 1 to ",
        kMaxWeightedTerms, " terms, got ", terms.size());
  CHECK(terms.size() == weights.size(), "weighted_sum: needs one weight a term, got ",
        weights.size(), " for ", terms.size());
  for (size_t i = 0; i < terms.size(); ++i) {
    check_tensor("weighted_sum", ("term " + std::to_string(i)).c_str(), terms[i], {1});
  }
}

}  // namespace

Tensor weighted_sum(const std::vector<Tensor>& terms, const std::vector<double>& weights) {
  check_inputs(terms, weights);
  const Tensor y = Tensor::empty({1});
  WeightedSumForward args{};
  args.count = static_cast<int>(terms.size());
  args.y = y.data();
  for (size_t i = 0; i < terms.size(); ++i) {
    args.terms[i] = terms[i].data();
    args.weights[i] = weights[i];
  }
  weighted_sum_forward_cpu(args);
  return record("weighted_sum", y, terms, [=](const Tensor& dy, Gradients d) {
    for (size_t i = 0; i < weights.size(); ++i) {
      if (!d[i].wanted()) continue;
      const GradientTarget dterm = d[i].target();
      weighted_sum_backward_cpu({dy.data(), weights[i], dterm.data(), dterm.accumulate});
    }
  });
}

}  // namespace loopless
