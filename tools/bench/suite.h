/// What the bench files of ops are written with. Each registers its benchmarks; build/bench links
/// them all.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "autograd/autograd.h"
#include "tools/bench_harness.h"

namespace loopless::bench {

/// An op on inputs that take gradients: `inputs` are what its backward must start without.
struct OpCase {
  std::vector<Tensor> inputs;
  std::function<Tensor()> run;
};

/// Becomes two benchmarks: name/forward, as recorded in training, and name/backward.
struct OpBenchmark {
  std::string name;
  Size size;
  Floor forward, backward;
  std::function<OpCase()> make;
};

class Suite {
 public:
  void add(Benchmark benchmark) { benchmarks_.push_back(std::move(benchmark)); }
  void add_op(const OpBenchmark& op);
  const std::vector<Benchmark>& benchmarks() const { return benchmarks_; }

 private:
  std::vector<Benchmark> benchmarks_;
};

/// Registers a list of benchmarks before main starts: one object a bench file.
using ListFn = void (*)(Suite&);
class Registration {
 public:
  explicit Registration(ListFn list);
};
std::vector<Benchmark> registered_benchmarks();

/// Normally distributed numbers outside the graph; as a leaf; and as a parameter with its
/// gradient.
Tensor normal(const Shape& shape);
inline Tensor activation(const Shape& shape) { return leaf(normal(shape)); }
inline Tensor weight(const Shape& shape) { return parameter(normal(shape), Tensor::zeros(shape)); }
/// Random tokens, i32, from 0 to vocabulary - 1.
Tensor random_ids(const Shape& shape, int64_t vocabulary);
/// "34816x256".
std::string dims(std::initializer_list<int64_t> sizes);

}  // namespace loopless::bench
