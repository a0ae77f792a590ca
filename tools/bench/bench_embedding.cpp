#include "ops/embedding/embedding.h"
#include "tools/bench/suite.h"

namespace loopless::bench {
namespace {

constexpr int64_t kVocabulary = 256;

// Bytes: forward ids, the table once, y; backward ids, dy, the table's gradient read and written.
void list(Suite& suite, Size size, int64_t batch, int64_t length, int64_t columns) {
  const auto tokens = static_cast<double>(batch * length), width = static_cast<double>(columns);
  const double values = tokens * (width + 1), table = kVocabulary * width;
  suite.add_op({"embedding/" + dims({batch, length, columns}), size, floats(values + table),
                floats(values + 2 * table), [=] {
                  const Tensor ids = random_ids({batch, length}, kVocabulary);
                  const Tensor table = weight({kVocabulary, columns});
                  return OpCase{{}, [=] { return embedding(ids, table); }};
                }});
}

const Registration registration([](Suite& suite) {
  list(suite, Size::kPaper, 128, 256, 256);
  list(suite, Size::kQuick, 32, 1, 64);
});

}  // namespace
}  // namespace loopless::bench
