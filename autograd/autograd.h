/// Reverse-mode differentiation, defined by running.
///
/// An op computes its output and records how its gradient flows back:
///
///   Tensor y = ...;                                           // run the kernel
///   return record("gelu", y, {x}, [=](const Tensor& dy, Gradients d) {
///     const GradientTarget dx = d[0].target();
///     gelu_backward_cpu({x.data(), dy.data(), dx.data(), dx.accumulate, x.numel()});
///   });
///
/// Every recorded op is a node with an increasing number. `backward` always takes the largest
/// number that has a gradient, so each node runs once, after all its users, and without recursion.
/// A node frees what it saved right after its use.
///
/// **The gradient law.** The gradient of one tensor may come from several users. The engine tells
/// each backward whether its contribution is the first one (write) or a later one (add):
/// `d[i].target()`. A backward whose result is its own `dy` hands it on with `d[i].take(dy)`:
/// the first contribution moves without a copy. Parameters always add: their gradients are slices
/// of one flat buffer that is zeroed once a step (models/parameters.h).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tensor/tensor.h"

namespace loopless {

struct Node;

/// The autograd side of one tensor: who made it, and the gradient gathered so far.
struct GradMeta {
  ~GradMeta();
  std::shared_ptr<Node> producer;  // null for leaves
  Tensor grad;                     // undefined until something arrives
  bool is_parameter = false;       // then `grad` is set from the start and always added to
};

/// Where a backward kernel puts the gradient of one input: writes it, or adds it to what is there.
struct GradientTarget {
  Tensor tensor;            // of the input's shape; undefined: absent, do no work for it
  bool accumulate = false;  // add to `tensor` instead of overwriting it

  float* data() const { return tensor.defined() ? tensor.data() : nullptr; }
};

/// The gradient of one input, as seen by a backward. Valid during the call that received it.
class Gradient {
 public:
  Gradient(GradMeta* meta, const Shape& shape, Device device)
      : meta_(meta), shape_(shape), device_(device) {}

  /// False: nobody needs this gradient; do no work for it.
  bool wanted() const { return meta_ != nullptr; }
  /// The buffer and what to do with it. Asking is a promise to fill it: ask once. Two inputs of an
  /// op never get the same buffer, even if they are one tensor.
  GradientTarget target() const;
  /// The contribution is `dy` itself (taken in the input's shape): moved when it is the first one,
  /// added otherwise. The caller must not change dy's elements any more.
  void take(const Tensor& dy) const;

 private:
  GradMeta* meta_;
  Shape shape_;
  Device device_;
};

/// One per input of the op, in the order given to `record`.
using Gradients = const std::vector<Gradient>&;
using BackwardFn = std::function<void(const Tensor& dy, Gradients d)>;

/// Returns y with a place in the graph, or y alone when no input needs a gradient or recording is
/// off. `inputs` may hold undefined tensors: their gradient is not wanted. `op` names the node in
/// messages and must outlive it (a string literal).
Tensor record(const char* op, Tensor y, const std::vector<Tensor>& inputs, BackwardFn backward);

/// Whether ops on this thread are recorded: no NoGrad lives.
bool is_recording();
/// Whether an op on these inputs would be recorded: decides what a forward has to save.
bool needs_grad(const std::vector<Tensor>& inputs);

struct BackwardOptions {
  bool retain_graph = false;  // keep what nodes saved, so that backward can run again
};
/// Adds d(loss)/d(leaf) to every leaf that led to `loss`. `loss` has one element.
/// Throws Error if it has more, or was not recorded, or its graph was already used.
void backward(const Tensor& loss, BackwardOptions options = {});
/// The same with the gradient of y given: dy has y's shape. A leaf's gradient may share dy's
/// storage afterwards, so its elements must not be changed any more.
void backward_from(const Tensor& y, const Tensor& dy, BackwardOptions options = {});

/// A leaf of the graph with the elements of x. Its gradient is collected over backward calls.
Tensor leaf(const Tensor& x);
/// A leaf whose gradient is always added into `grad` (same shape): a parameter. `rows` and
/// `reshape` of a parameter are parameters too, with the same view of `grad`.
Tensor parameter(const Tensor& value, const Tensor& grad);
/// The same elements under another shape, or a range of the leading dimension: free, and recorded.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor rows(const Tensor& x, int64_t begin, int64_t count);
/// The same elements, outside the graph.
Tensor detach(const Tensor& x);

/// The gradient collected by a leaf or parameter; undefined if none arrived.
Tensor grad_of(const Tensor& leaf);
/// Forgets the gradient collected by a leaf that is no parameter.
void clear_grad(const Tensor& leaf);

/// While one lives, ops on this thread are not recorded.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// Runs `f(inputs)` without saving anything inside; backward runs it again to get what it needs.
/// Trades one more forward for the memory of the segment. Gradients of parameters used inside f
/// flow as usual. f must be a pure function of `inputs` and of parameters.
using SegmentFn = std::function<Tensor(const std::vector<Tensor>&)>;
Tensor recompute(SegmentFn f, const std::vector<Tensor>& inputs);

/// Called with each node's op name and incoming gradient before its backward runs, on this thread;
/// an empty function ends it. Lets tests and tools show which work is done and which is not.
using BackwardObserver = std::function<void(const char* op, const Tensor& dy)>;
void observe_backward(BackwardObserver observer);

}  // namespace loopless
