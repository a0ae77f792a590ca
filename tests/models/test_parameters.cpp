#include "models/parameters.h"
#include "models/reference_names.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

TEST(FlatParameters, become_views_of_one_buffer) {
  Tensor a = random_tensor({3, 5}, 1), b = random_tensor({7}, 2), c = random_tensor({2, 2}, 3);
  const std::vector<float> a_values = a.to_vector(), c_values = c.to_vector();
  const FlatParameters flat(
      {{"first", {{"a", &a}, {"b", &b}}, true}, {"second", {{"c", &c}}, false}});
  EXPECT_EQ(a.to_vector(), a_values);
  EXPECT_EQ(c.to_vector(), c_values);
  EXPECT_TRUE(a.shares_storage_with(flat.values()));
  EXPECT_TRUE(c.shares_storage_with(flat.values()));
  EXPECT_EQ(flat.trained_count(), 128);  // two parameters of one 256-byte piece each
  EXPECT_EQ(flat.values().numel(), 192);
  EXPECT_EQ(flat.groups()[1].begin, 128);
  EXPECT_EQ(flat.entries()[1].begin, 64);
  EXPECT_FALSE(grad_of(c).defined());
  const Tensor y = reshape(a, {15});
  backward_from(y, Tensor::full({15}, 2.0f));
  EXPECT_EQ(flat.grads().to_vector()[14], 2.0f);
  EXPECT_EQ(flat.grads().to_vector()[15], 0.0f);  // padding
  flat.zero_grads();
  EXPECT_EQ(grad_of(a).to_vector(), std::vector<float>(15, 0.0f));
}

TEST(FlatParameters, errors) {
  Tensor a = Tensor::zeros({2}), b = Tensor::zeros({2});
  EXPECT_ERROR(FlatParameters({{"g", {{"a", &a}, {"a", &b}}, true}}),
               "parameters: two are named a");
  EXPECT_ERROR(FlatParameters({{"g", {{"a", &a}}, false}, {"h", {{"b", &b}}, true}}),
               "parameters: trained group h must come before those that are not trained");
}

TEST(LoadParameters, errors) {
  Tensor a = Tensor::zeros({2});
  const NamedParameters list = {{"a", &a}};
  EXPECT_ERROR(load_parameters(list, {}, "w.safetensors"), "w.safetensors: parameter a is missing");
  EXPECT_ERROR(load_parameters(list, {{"a", Tensor::zeros({3})}}, "w.safetensors"),
               "w.safetensors: parameter a is f32 [3], this model has f32 [2]");
  EXPECT_ERROR(load_parameters(list, {{"a", Tensor::zeros({2})}, {"b", Tensor::zeros({2})}},
                               "w.safetensors"),
               "w.safetensors: parameter b is not part of this model");
}

TEST(ReferenceNames, table) {
  EXPECT_EQ(reference_names("teacher.registers.weight"),
            std::vector<std::string>{"teacher.encoder_mem_register.weight"});
  EXPECT_EQ(
      reference_names("rnn.cell.layer3.attention.qkv.weight"),
      (std::vector<std::string>{"rnn.rnn.layers.6.1.to_q.weight", "rnn.rnn.layers.6.1.to_k.weight",
                                "rnn.rnn.layers.6.1.to_v.weight"}));
  EXPECT_EQ(reference_names("rnn.readout.layer0.feed_forward.down.bias"),
            std::vector<std::string>{"rnn.decoder.layers.1.1.ff.2.bias"});
  EXPECT_EQ(reference_names("teacher.encoder.final_norm.gain"),
            std::vector<std::string>{"teacher.encoder.final_norm.g"});
  EXPECT_ERROR(reference_names("rnn.cell.layer0.typo"),
               "reference names: the reference has no parameter for rnn.cell.layer0.typo");
}

TEST(ReferenceNames, errors) {
  Tensor a = Tensor::zeros({6, 2});
  const NamedParameters list = {{"rnn.cell.layer0.attention.qkv.weight", &a}};
  EXPECT_ERROR(from_reference(list, {}, "w"),
               "w: parameter rnn.rnn.layers.0.1.to_q.weight is missing");
  EXPECT_ERROR(
      from_reference(list, {{"rnn.rnn.layers.0.1.to_q.weight", Tensor::zeros({3, 2})}}, "w"),
      "w: parameter rnn.rnn.layers.0.1.to_q.weight is f32 [3, 2], this model has f32 [2, 2]");
}

}  // namespace
}  // namespace loopless::testing
