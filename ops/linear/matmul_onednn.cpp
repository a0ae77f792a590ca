#include "ops/linear/matmul_onednn.h"

#include <compare>
#include <map>
#include <omp.h>
#include <unordered_map>

#include "oneapi/dnnl/dnnl.hpp"

#include "tensor/error.h"

// Another runtime would bring threads of its own, and two pools fight for the cores.
static_assert(DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP, "loopless needs a oneDNN built for OpenMP");

namespace loopless {
namespace {

using dnnl::memory;

/// A run meets a few dozen kinds of product. A program that goes on meeting new ones starts afresh
/// here; oneDNN itself remembers more of them, so that making one again is cheap.
constexpr size_t kMaxProducts = 256;

/// What a primitive is made for. oneDNN shares the work out among the threads when it is made.
struct Kind {
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column, c_row;  // strides
  bool has_bias, accumulate;
  int threads;

  auto operator<=>(const Kind&) const = default;
};

Kind kind_of(const Matmul& args) {
  const StridedMatrix a = strided(args.a, args.m, args.k, args.transpose_a, args.lda);
  const StridedMatrix b = strided(args.b, args.k, args.n, args.transpose_b, args.ldb);
  const StridedMatrix c = strided(args.c, args.m, args.n, false, args.ldc);
  return {.m = args.m,
          .n = args.n,
          .k = args.k,
          .a_row = a.row_stride,
          .a_column = a.column_stride,
          .b_row = b.row_stride,
          .b_column = b.column_stride,
          .c_row = c.row_stride,
          .has_bias = args.bias != nullptr,
          .accumulate = args.accumulate,
          .threads = omp_get_max_threads()};
}

/// A primitive, and its arguments: memory objects whose data each call names anew.
struct Product {
  dnnl::matmul primitive;
  std::unordered_map<int, memory> arguments;
  int64_t scratch_bytes;
};

memory::desc matrix(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  return {{rows, columns}, memory::data_type::f32, memory::dims{row_stride, column_stride}};
}

Product make_product(const Kind& kind, const dnnl::engine& engine) {
  const memory::desc a = matrix(kind.m, kind.k, kind.a_row, kind.a_column);
  const memory::desc b = matrix(kind.k, kind.n, kind.b_row, kind.b_column);
  const memory::desc c = matrix(kind.m, kind.n, kind.c_row, 1);
  const memory::desc bias = kind.has_bias ? matrix(1, kind.n, kind.n, 1) : memory::desc();
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (kind.accumulate) {
    dnnl::post_ops add_to_c;
    add_to_c.append_sum(1.0f);
    attributes.set_post_ops(add_to_c);
  }
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc description(engine, a, b, bias, c, attributes);
#else
  const dnnl::matmul::primitive_desc description({a, b, bias, c}, attributes, engine);
#endif

  const memory::desc scratch = description.scratchpad_desc();
  const auto without_data = [&](const memory::desc& d) {
    return memory(d, engine, DNNL_MEMORY_NONE);
  };
  Product product{dnnl::matmul(description),
                  {{DNNL_ARG_SRC, without_data(a)},
                   {DNNL_ARG_WEIGHTS, without_data(b)},
                   {DNNL_ARG_DST, without_data(c)},
                   {DNNL_ARG_SCRATCHPAD, without_data(scratch)}},
                  static_cast<int64_t>(scratch.get_size())};
  if (kind.has_bias) product.arguments.emplace(DNNL_ARG_BIAS, without_data(bias));
  return product;
}

/// What a thread keeps. Each has its own, since an argument names the data of one call.
struct Cache {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<Kind, Product> products;

  const Product& product(const Kind& kind) {
    const auto known = products.find(kind);
    if (known != products.end()) return known->second;
    if (products.size() == kMaxProducts) products.clear();
    return products.emplace(kind, make_product(kind, engine)).first->second;
  }
};

void run(const Matmul& args) {
  thread_local Cache cache;
  const Product& product = cache.product(kind_of(args));
  const Storage scratch(product.scratch_bytes, kCPU);
  // oneDNN knows no memory that is only read; it writes to that of the destination alone.
  const auto set = [&](int argument, const void* data) {
    product.arguments.at(argument).set_data_handle(const_cast<void*>(data));
  };
  set(DNNL_ARG_SRC, args.a);
  set(DNNL_ARG_WEIGHTS, args.b);
  set(DNNL_ARG_DST, args.c);
  set(DNNL_ARG_SCRATCHPAD, scratch.data());
  if (args.bias) set(DNNL_ARG_BIAS, args.bias);
  product.primitive.execute(cache.stream, product.arguments);
  cache.stream.wait();
}

}  // namespace

void matmul_onednn(const Matmul& args) {
  // Where a size is 0, oneDNN leaves C as it is; but an empty sum is 0, and has the bias added.
  if (args.m == 0 || args.n == 0 || args.k == 0) return matmul_own(args);
  try {
    run(args);
  } catch (const dnnl::error& error) {
    detail::throw_error("matmul: oneDNN failed on [", args.m, ", ", args.k, "] x [", args.k, ", ",
                        args.n, "]: ", error.what());
  }
}

}  // namespace loopless
