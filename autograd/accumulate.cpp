#include "autograd/accumulate.h"

namespace loopless {

void accumulate_into(const Tensor& into, const Tensor& from) {
  CHECK(into.numel() == from.numel(), "accumulate: ", from.shape(), " cannot be added to ",
        into.shape());
  accumulate_cpu({from.data(), into.data(), into.numel()});
}

}  // namespace loopless
