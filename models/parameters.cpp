#include "models/parameters.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace loopless {
namespace {

constexpr int64_t kPadding = Storage::kAlignment / static_cast<int64_t>(sizeof(float));

int64_t padded(int64_t count) { return (count + kPadding - 1) / kPadding * kPadding; }

}  // namespace

FlatParameters::FlatParameters(const std::vector<ParameterGroup>& groups) {
  std::set<std::string> names;
  int64_t total = 0, trained = 0;
  for (const ParameterGroup& group : groups) {
    Slice slice{group.name, total, 0, group.is_trained};
    for (const NamedParameter& parameter : group.parameters) {
      CHECK(names.insert(parameter.name).second, "parameters: two are named ", parameter.name);
      total += padded(parameter.tensor->numel());
    }
    slice.count = total - slice.begin;
    CHECK(!group.is_trained || trained == slice.begin, "parameters: trained group ", group.name,
          " must come before those that are not trained");
    if (group.is_trained) trained = total;
    groups_.push_back(slice);
  }
  values_ = Tensor::zeros({total});
  grads_ = Tensor::zeros({trained});
  int64_t begin = 0;
  for (const ParameterGroup& group : groups) {
    for (const NamedParameter& parameter : group.parameters) {
      Tensor& tensor = *parameter.tensor;
      const Shape shape = tensor.shape();
      const Tensor value = values_.view_rows(begin, shape.numel()).view(shape);
      value.copy_from(tensor);
      Tensor grad;
      if (group.is_trained) grad = grads_.view_rows(begin, shape.numel()).view(shape);
      tensor = group.is_trained ? loopless::parameter(value, grad) : value;
      entries_.push_back({parameter.name, value, grad, begin});
      begin += padded(shape.numel());
    }
  }
}

NamedParameters joined(NamedParameters first, const NamedParameters& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

int64_t count_not_finite(const Tensor& x) {
  const float* first = x.data();
  return std::count_if(first, first + x.numel(), [](float value) { return !std::isfinite(value); });
}

int64_t count_elements(const NamedParameters& parameters) {
  int64_t count = 0;
  for (const NamedParameter& parameter : parameters) count += parameter.tensor->numel();
  return count;
}

void copy_parameters(const NamedParameters& from, const NamedParameters& into) {
  std::vector<std::pair<std::string, Tensor>> values;
  for (const NamedParameter& parameter : from) {
    values.emplace_back(parameter.name, detach(*parameter.tensor));
  }
  load_parameters(into, values, "copy_parameters");
}

void load_parameters(const NamedParameters& into,
                     const std::vector<std::pair<std::string, Tensor>>& from,
                     const std::string& source) {
  std::map<std::string, Tensor> found(from.begin(), from.end());
  for (const NamedParameter& parameter : into) {
    const auto it = found.find(parameter.name);
    CHECK(it != found.end(), source, ": parameter ", parameter.name, " is missing");
    const Tensor& value = it->second;
    CHECK(value.dtype() == kF32 && value.shape() == parameter.tensor->shape(), source,
          ": parameter ", parameter.name, " is ", value.dtype(), " ", value.shape(),
          ", this model has f32 ", parameter.tensor->shape());
    const int64_t bad = count_not_finite(value);
    CHECK(bad == 0, source, ": parameter ", parameter.name, " holds ", bad,
          " values that are not finite numbers");
    parameter.tensor->copy_from(value);
    found.erase(it);
  }
  CHECK(found.empty(), source, ": parameter ", found.begin()->first, " is not part of this model");
}

}  // namespace loopless
