#include "ops/embedding/embedding.h"

namespace loopless {
namespace {

void check_inputs(const Tensor& ids, const Tensor& weight) {
  check_dtype("embedding", "ids", ids, kI32);
  check_dtype("embedding", "weight", weight);
  CHECK(ids.rank() == 2, "embedding: ids must be [B, T], got ", ids.shape());
  CHECK(weight.rank() == 2, "embedding: weight must be [V, C], got ", weight.shape());
  const int32_t* id = ids.data<int32_t>();
  const int64_t T = ids.size(1), V = weight.size(0);
  for (int64_t i = 0; i < ids.numel(); ++i) {
    CHECK(id[i] >= -1 && id[i] < V, "embedding: id ", id[i], " at [", i / T, ", ", i % T,
          "] is outside the vocabulary of ", V);
  }
}

}  // namespace

Tensor embedding(const Tensor& ids, const Tensor& weight) {
  check_inputs(ids, weight);
  const int64_t rows = ids.numel(), vocabulary = weight.size(0), columns = weight.size(1);
  const Tensor y = Tensor::empty({ids.size(0), ids.size(1), columns}, kF32, weight.device());
  embedding_forward_cpu({.ids = ids.data<int32_t>(),
                         .weight = weight.data(),
                         .y = y.data(),
                         .rows = rows,
                         .columns = columns});

  return record("embedding", y, {weight}, [=](const Tensor& dy, Gradients d) {
    const GradientTarget dweight = d[0].target();
    embedding_backward_cpu({.ids = ids.data<int32_t>(),
                            .dy = dy.data(),
                            .dweight = dweight.data(),
                            .accumulate = dweight.accumulate,
                            .rows = rows,
                            .columns = columns,
                            .vocabulary = vocabulary});
  });
}

}  // namespace loopless
