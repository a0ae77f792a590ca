/// Parameters of a run: names, groups, and the flat buffers they live in.
///
/// Models are plain structs of tensors that can list themselves. `FlatParameters` moves the listed
/// tensors into one buffer, each padded to 256 bytes, in the order of the list (a model lists in
/// forward order, so gradients become final from the back to the front). Groups that are trained
/// come first; gradients live in a second buffer at the same offsets. So the optimiser is one
/// kernel over a slice, a gradient norm one reduction, and zeroing the gradients one memset.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/autograd.h"
#include "tensor/tensor.h"

namespace loopless {

/// A tensor inside a model, by name. Valid while the model stays where it is.
struct NamedParameter {
  std::string name;
  Tensor* tensor;
};
using NamedParameters = std::vector<NamedParameter>;

/// Parameters that are trained, or not, and clipped together.
struct ParameterGroup {
  std::string name;
  NamedParameters parameters;
  bool is_trained = true;
};

class FlatParameters {
 public:
  /// Copies the listed tensors into the flat buffer and makes them views of it: parameters with a
  /// gradient where the group is trained, plain tensors elsewhere.
  /// Throws Error if a trained group follows one that is not, or two parameters share a name.
  explicit FlatParameters(const std::vector<ParameterGroup>& groups);

  /// One group's place in the buffers, in elements, padding included (padding stays zero).
  struct Slice {
    std::string name;
    int64_t begin = 0;
    int64_t count = 0;
    bool is_trained = true;
  };
  const std::vector<Slice>& groups() const { return groups_; }

  const Tensor& values() const { return values_; }  // f32 [all]
  const Tensor& grads() const { return grads_; }    // f32 [trained]
  /// Elements of trained groups, padding included: the leading part of `values`.
  int64_t trained_count() const { return grads_.numel(); }
  /// Parameters of all groups by name, as views of `values` outside the graph.
  struct Entry {
    std::string name;
    Tensor value;
    Tensor grad;  // undefined where the group is not trained
    int64_t begin = 0;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  void zero_grads() const { grads_.zero(); }

 private:
  std::vector<Slice> groups_;
  std::vector<Entry> entries_;
  Tensor values_;
  Tensor grads_;
};

/// Both lists, one after the other.
NamedParameters joined(NamedParameters first, const NamedParameters& second);

/// Number of elements over all listed tensors, without padding.
int64_t count_elements(const NamedParameters& parameters);

/// Copies the values of `from` into the parameters of the same names, which must be the same list.
void copy_parameters(const NamedParameters& from, const NamedParameters& into);

/// Elements of an f32 tensor that are NaN or infinite.
int64_t count_not_finite(const Tensor& x);

/// Copies `from` into the parameters of the same names. Throws Error naming the first parameter
/// that is missing, superfluous, of another shape or not finite; `source` names where they come
/// from.
void load_parameters(const NamedParameters& into,
                     const std::vector<std::pair<std::string, Tensor>>& from,
                     const std::string& source);

}  // namespace loopless
