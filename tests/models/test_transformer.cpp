#include <set>

#include "models/rnn.h"
#include "models/teacher.h"
#include "models/transformer.h"
#include "ops/slice_tokens/slice_tokens.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

const TransformerShape kShape{.width = 24, .heads = 2, .depth = 3, .is_rotary = true};

/// Kept tokens of the pruned last layer against the same tokens of the whole output.
void expect_pruning_changes_nothing(TokenRange kept, bool is_causal, const Tensor& key_mask) {
  Initializer init(5);
  Transformer stack(kShape, init);
  NamedParameters list;
  stack.list_parameters("stack", list);
  const FlatParameters parameters({{"stack", list, true}});
  const Tensor x = random_tensor({2, 11, 24}, 1);
  const Tensor dy = random_tensor({2, kept.count, 24}, 2);

  const Tensor whole_x = leaf(x);
  const Tensor whole = stack.forward(whole_x, {is_causal, key_mask, {0, 11}});
  const Tensor part = slice_tokens(whole, kept.first, kept.count);
  backward_from(part, dy);
  const std::vector<float> whole_grads = parameters.grads().to_vector();
  parameters.zero_grads();

  const Tensor pruned_x = leaf(x);
  const Tensor pruned = stack.forward(pruned_x, {is_causal, key_mask, kept});
  backward_from(pruned, dy);
  // The same sums, some in another order: a few roundings of 2^-24 on 24 to 128 terms.
  const double tolerance = 2e-6;
  EXPECT_LE(largest_difference(pruned.to_vector(), part.to_vector()),
            tolerance * largest_magnitude(part.to_vector()));
  EXPECT_LE(largest_difference(parameters.grads().to_vector(), whole_grads),
            tolerance * largest_magnitude(whole_grads));
  EXPECT_LE(largest_difference(grad_of(pruned_x).to_vector(), grad_of(whole_x).to_vector()),
            tolerance * largest_magnitude(grad_of(whole_x).to_vector()));
}

TEST(Transformer, pruned_suffix_equals_the_whole) {
  expect_pruning_changes_nothing({7, 4}, false, {});
  expect_pruning_changes_nothing({10, 1}, true, {});
}
TEST(Transformer, pruned_prefix_equals_the_whole) {
  expect_pruning_changes_nothing({0, 10}, false, {});
}
TEST(Transformer, pruned_middle_equals_the_whole) {
  expect_pruning_changes_nothing({3, 5}, true, {});
}
TEST(Transformer, pruned_with_masked_keys_equals_the_whole) {
  std::vector<uint8_t> visible(22, 1);
  visible[0] = visible[1] = visible[11] = 0;
  expect_pruning_changes_nothing({7, 4}, false, Tensor::from({2, 11}, visible));
}

TEST(Transformer, errors) {
  Initializer init(5);
  const Transformer stack(kShape, init);
  EXPECT_ERROR(stack.forward(Tensor::zeros({2, 11, 23}), {false, {}, {0, 11}}),
               "transformer: x must be [B, T, 24], got [2, 11, 23]");
  EXPECT_ERROR(stack.forward(Tensor::zeros({2, 11, 24}), {false, {}, {8, 4}}),
               "transformer: tokens [8, 8 + 4) are outside [2, 11, 24]");
}

/// The encoder sees a set of (token, position) pairs: what stands in a padded place does not
/// matter.
TEST(Teacher, padding_is_invisible) {
  TeacherConfig config;
  config.vocab_size = 7;
  config.d_model = 16;
  config.mem_tokens = 2;
  config.mem_size = 32;
  config.n_heads = 1;
  config.encoder_depth = config.decoder_depth = 2;
  Teacher teacher(config, 3);
  const Tensor padded = Tensor::from<int32_t>({1, 5}, {-1, -1, 4, 2, 6});
  const std::vector<float> with = teacher.encode(padded, true).to_vector();
  for (const NamedParameter& parameter : teacher.parameters()) {
    if (parameter.name != "teacher.embed.weight") continue;
    parameter.tensor->view_rows(0, 1).zero();  // token 0 is not in the context
  }
  EXPECT_EQ(teacher.encode(padded, true).to_vector(), with);
  EXPECT_GT(largest_difference(teacher.encode(padded, false).to_vector(), with), 1e-3);
}

TEST(Models, parameter_counts_are_the_papers) {
  TeacherConfig teacher_config;
  teacher_config.mem_tokens = 16;
  teacher_config.mem_size = 4096;
  RnnConfig rnn_config;
  rnn_config.mem_tokens = 16;
  rnn_config.mem_size = 4096;
  Teacher teacher(teacher_config, 0);
  Rnn rnn(rnn_config, 0);
  EXPECT_EQ(count_elements(teacher.parameters()), 12'740'352);
  EXPECT_EQ(count_elements(rnn.parameters()), 12'736'256);
  EXPECT_EQ(count_elements(teacher.parameters()) + count_elements(rnn.cell_parameters()),
            21'209'088);
}

TEST(Models, initial_values) {
  TeacherConfig config;
  Teacher teacher(config, 1), same(config, 1), other(config, 2);
  EXPECT_EQ(teacher.parameters()[0].tensor->to_vector(), same.parameters()[0].tensor->to_vector());
  EXPECT_NE(teacher.parameters()[0].tensor->to_vector(), other.parameters()[0].tensor->to_vector());
  std::set<float> first_values;
  for (const NamedParameter& parameter : teacher.parameters()) {
    const std::vector<float> values = parameter.tensor->to_vector();
    double square = 0;
    for (float value : values) square += static_cast<double>(value) * value / values.size();
    if (parameter.name.ends_with("gain")) {
      EXPECT_EQ(largest_magnitude(values), 0) << parameter.name;
    } else if (parameter.name.ends_with("qkv.weight")) {
      EXPECT_LE(largest_magnitude(values), 1.0 / 16) << parameter.name;
      EXPECT_NEAR(std::sqrt(square), 1.0 / 16 / std::sqrt(3.0), 1e-3) << parameter.name;
      EXPECT_TRUE(first_values.insert(values[0]).second) << "two tensors share their numbers";
    } else if (parameter.name.ends_with("embed.weight")) {
      EXPECT_NEAR(square, 1, 0.05) << parameter.name;
    }
  }
}

TEST(Models, errors) {
  TeacherConfig teacher;
  teacher.mem_size = 100;
  EXPECT_ERROR(Teacher(teacher, 0),
               "teacher.mem_size: must be d_model * mem_tokens = 256 * 1 = 256, got 100");
  RnnConfig rnn;
  rnn.vocab_size = 128;
  EXPECT_ERROR(check_match(TeacherConfig(), rnn),
               "teacher.vocab_size and rnn.vocab_size must be equal, got 256 and 128");
}

}  // namespace
}  // namespace loopless::testing
