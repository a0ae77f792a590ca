#include "tools/bench/suite.h"

#include "tensor/philox.h"

namespace loopless::bench {
namespace {

/// Distinct random numbers of a tensor; then they repeat. A prime, so that no row repeats another.
constexpr int64_t kDistinct = 65537;

/// Made at the first use: other files register before main starts, in any order.
std::vector<ListFn>& registered() {
  static std::vector<ListFn> lists;
  return lists;
}

std::function<void()> prepare_backward(const OpCase& op) {
  const Tensor y = op.run();
  const Tensor dy = normal(y.shape());
  return [=] {
    for (const Tensor& input : op.inputs) {
      if (!input.grad_meta()->is_parameter) clear_grad(input);
    }
    backward_from(y, dy, {.retain_graph = true});
  };
}

}  // namespace

void Suite::add_op(const OpBenchmark& op) {
  add({op.name + "/forward", op.size, op.forward,
       [make = op.make]() -> std::function<void()> { return [op = make()] { op.run(); }; }});
  add({op.name + "/backward", op.size, op.backward,
       [make = op.make] { return prepare_backward(make()); }});
}

Registration::Registration(ListFn list) { registered().push_back(list); }

std::vector<Benchmark> registered_benchmarks() {
  Suite suite;
  for (const ListFn list : registered()) list(suite);
  return suite.benchmarks();
}

Tensor normal(const Shape& shape) {
  static const Tensor distinct = [] {
    const Tensor x = Tensor::empty({kDistinct});
    fill_normal(x, Philox(0, 0), 0, 1);
    return x;
  }();
  const Tensor x = Tensor::empty(shape);
  for (int64_t i = 0; i < x.numel(); ++i) x.data()[i] = distinct.data()[i % kDistinct];
  return x;
}

Tensor random_ids(const Shape& shape, int64_t vocabulary) {
  const Tensor ids = Tensor::empty(shape, kI32);
  const Philox random(0, 1);
  for (int64_t i = 0; i < ids.numel(); ++i) {
    ids.data<int32_t>()[i] = static_cast<int32_t>(random.below(i, vocabulary));
  }
  return ids;
}

std::string dims(std::initializer_list<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

}  // namespace loopless::bench
