#include "autograd/autograd.h"

#include <algorithm>
#include <map>
#include <utility>

#include "autograd/accumulate.h"

namespace loopless {

struct Node {
  const char* op = "";
  int64_t number = 0;
  bool queued = false;
  bool used = false;
  std::vector<std::shared_ptr<GradMeta>> inputs;  // null where no gradient is wanted
  std::vector<Shape> input_shapes;
  Device device;
  BackwardFn backward;
};

namespace {

thread_local bool recording = true;
thread_local int64_t next_number = 0;
thread_local BackwardObserver observer;

/// Producers whose owner is being destroyed. A long chain would otherwise be destroyed
/// recursively, one stack frame a node; here the outermost destructor frees them one after the
/// other.
thread_local std::vector<std::shared_ptr<Node>>* doomed = nullptr;

void free_later(std::shared_ptr<Node> node) {
  if (!node || node.use_count() > 1) return;
  if (doomed) {
    doomed->push_back(std::move(node));
    return;
  }
  std::vector<std::shared_ptr<Node>> waiting;
  waiting.push_back(std::move(node));
  doomed = &waiting;
  while (!waiting.empty()) {
    std::shared_ptr<Node> next = std::move(waiting.back());
    waiting.pop_back();
    next.reset();
  }
  doomed = nullptr;
}

bool comes_first(const std::shared_ptr<GradMeta>& a, const std::shared_ptr<GradMeta>& b) {
  return a->producer->number < b->producer->number;  // a heap's top is its largest element
}

/// The outputs whose producers wait for their backward, largest number on top. It owns them: the
/// gradient must live until then, even if the output was dropped and its users are freed.
class Queue {
 public:
  /// Left early by an exception: whatever was gathered must not leak into a later backward.
  ~Queue() {
    for (const std::shared_ptr<GradMeta>& output : heap_) {
      output->producer->queued = false;
      output->grad = Tensor();
    }
  }
  void push(const std::shared_ptr<GradMeta>& output) {
    if (!output->producer || output->producer->queued) return;
    output->producer->queued = true;
    heap_.push_back(output);
    std::push_heap(heap_.begin(), heap_.end(), comes_first);
  }
  std::shared_ptr<GradMeta> pop() {
    std::pop_heap(heap_.begin(), heap_.end(), comes_first);
    std::shared_ptr<GradMeta> output = std::move(heap_.back());
    heap_.pop_back();
    output->producer->queued = false;
    return output;
  }
  bool empty() const { return heap_.empty(); }

 private:
  std::vector<std::shared_ptr<GradMeta>> heap_;
};

/// Runs one node's backward. An op may get one tensor twice, and its kernel may fill both
/// gradients in one pass: the second one is gathered apart and then added.
void run(const Node& node, const Tensor& dy) {
  const auto& inputs = node.inputs;
  std::map<size_t, GradMeta> apart;
  std::vector<Gradient> d;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto self = inputs.begin() + i;
    const bool repeated = inputs[i] && std::find(inputs.begin(), self, inputs[i]) != self;
    d.emplace_back(repeated ? &apart[i] : inputs[i].get(), node.input_shapes[i], node.device);
  }
  node.backward(dy, d);
  for (const auto& [i, meta] : apart) {
    if (!meta.grad.defined()) continue;
    Gradient(inputs[i].get(), node.input_shapes[i], node.device).take(meta.grad);
  }
}

/// A view of a parameter is a parameter; any other view is a node that hands dy's view on.
template <class View, class Unview>
Tensor record_view(const char* op, const Tensor& x, View view, Unview backward) {
  Tensor y = view(x);
  const std::shared_ptr<GradMeta>& meta = x.grad_meta();
  if (meta && meta->is_parameter && recording) return parameter(y, view(meta->grad));
  return record(op, std::move(y), {x}, backward);
}

}  // namespace

GradMeta::~GradMeta() { free_later(std::move(producer)); }

GradientTarget Gradient::target() const {
  if (!wanted()) return {};
  Tensor& grad = meta_->grad;
  if (!grad.defined()) {
    grad = Tensor::empty(shape_, kF32, device_);
    return {grad, false};
  }
  // A buffer that came by `take` may still be read by somebody else.
  if (!meta_->is_parameter && grad.is_shared()) grad = grad.clone();
  return {grad, true};
}

void Gradient::take(const Tensor& dy) const {
  if (!wanted()) return;
  CHECK(dy.numel() == shape_.numel(), "gradient: ", dy.shape(), " is not the gradient of ", shape_);
  if (meta_->grad.defined()) {
    accumulate_into(target().tensor, dy);
  } else {
    meta_->grad = dy.view(shape_);
  }
}

bool needs_grad(const std::vector<Tensor>& inputs) {
  if (!recording) return false;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Tensor& x) { return x.grad_meta() != nullptr; });
}

Tensor record(const char* op, Tensor y, const std::vector<Tensor>& inputs, BackwardFn backward) {
  if (!needs_grad(inputs)) return y;
  auto node = std::make_shared<Node>();
  node->op = op;
  node->number = next_number++;
  node->device = y.device();
  node->backward = std::move(backward);
  for (const Tensor& x : inputs) {
    node->inputs.push_back(x.grad_meta());
    node->input_shapes.push_back(x.shape());
  }
  auto meta = std::make_shared<GradMeta>();
  meta->producer = std::move(node);
  y.set_grad_meta(std::move(meta));
  return y;
}

void backward(const Tensor& loss, BackwardOptions options) {
  CHECK(loss.defined() && loss.numel() == 1, "backward: the loss must have one element, got ",
        loss.shape());
  backward_from(loss, Tensor::full(loss.shape(), 1.0f, loss.device()), options);
}

void backward_from(const Tensor& y, const Tensor& dy, BackwardOptions options) {
  CHECK(y.defined() && y.grad_meta(), "backward: the tensor was not recorded");
  check_tensor("backward", "dy", dy, y.shape());
  Gradient(y.grad_meta().get(), y.shape(), y.device()).take(dy);
  Queue queue;
  queue.push(y.grad_meta());
  while (!queue.empty()) {
    const std::shared_ptr<GradMeta> output = queue.pop();
    const Tensor gathered = std::exchange(output->grad, Tensor());
    Node& node = *output->producer;
    CHECK(!node.used, node.op,
          ": backward ran before and freed what it saved; retain_graph keeps it");
    if (observer) observer(node.op, gathered);
    run(node, gathered);
    for (const std::shared_ptr<GradMeta>& input : node.inputs) {
      if (input && input->grad.defined()) queue.push(input);
    }
    if (options.retain_graph) continue;
    node.used = true;
    node.backward = nullptr;
    node.inputs.clear();
  }
}

Tensor leaf(const Tensor& x) {
  Tensor result = detach(x);
  result.set_grad_meta(std::make_shared<GradMeta>());
  return result;
}

Tensor parameter(const Tensor& value, const Tensor& grad) {
  check_tensor("parameter", "grad", grad, value.shape());
  Tensor result = leaf(value);
  result.grad_meta()->grad = grad;
  result.grad_meta()->is_parameter = true;
  return result;
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  return record_view(
      "reshape", x, [&](const Tensor& t) { return t.view(shape); },
      [](const Tensor& dy, Gradients d) { d[0].take(dy); });
}

Tensor rows(const Tensor& x, int64_t begin, int64_t count) {
  return record_view(
      "rows", x, [&](const Tensor& t) { return t.view_rows(begin, count); },
      [=](const Tensor& dy, Gradients d) {
        const GradientTarget dx = d[0].target();
        if (!dx.accumulate) dx.tensor.zero();
        accumulate_into(dx.tensor.view_rows(begin, count), dy);
      });
}

Tensor detach(const Tensor& x) { return x.view(x.shape()); }

Tensor grad_of(const Tensor& leaf) { return leaf.grad_meta() ? leaf.grad_meta()->grad : Tensor(); }

void clear_grad(const Tensor& leaf) {
  CHECK(leaf.grad_meta() && !leaf.grad_meta()->is_parameter,
        "clear_grad: only for leaves that are no parameters");
  leaf.grad_meta()->grad = Tensor();
}

namespace {
/// The opposite of NoGrad: a segment is recorded again wherever its backward runs.
struct Record {
  bool before = std::exchange(recording, true);
  ~Record() { recording = before; }
};
}  // namespace

bool is_recording() { return recording; }

NoGrad::NoGrad() : before_(std::exchange(recording, false)) {}
NoGrad::~NoGrad() { recording = before_; }

Tensor recompute(SegmentFn f, const std::vector<Tensor>& inputs) {
  Tensor y;
  {
    const NoGrad no_grad;
    y = f(inputs);
  }
  // The segment's parameters receive gradients through the inner backward, whether or not an input
  // needs one: an anchor makes sure that the node is recorded.
  std::vector<Tensor> recorded = inputs;
  recorded.push_back(leaf(Tensor::empty({0})));
  return record("recompute", detach(y), recorded, [=](const Tensor& dy, Gradients d) {
    const Record record_again;
    std::vector<Tensor> again;
    for (size_t i = 0; i < inputs.size(); ++i) {
      again.push_back(d[i].wanted() ? leaf(inputs[i]) : inputs[i]);
    }
    const Tensor result = f(again);
    if (result.grad_meta()) backward_from(result, dy);  // else nothing in the segment needs one
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (d[i].wanted() && grad_of(again[i]).defined()) d[i].take(grad_of(again[i]));
    }
  });
}

void observe_backward(BackwardObserver new_observer) { observer = std::move(new_observer); }

}  // namespace loopless
