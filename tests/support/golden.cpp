#include "tests/support/golden.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "models/reference_names.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

constexpr const char* kFolder = "tests/golden/";

template <class Config>
Config golden_config(const ModelConfig& memory) {
  Config config;
  config.vocab_size = 11;
  config.d_model = 16;
  config.mem_tokens = 4;
  config.mem_size = 64;
  config.n_heads = 2;
  config.decoder_depth = 2;
  config.mem_fsq = memory.mem_fsq;
  config.mem_rms_norm = memory.mem_rms_norm;
  return config;
}

TeacherConfig teacher_config(const ModelConfig& memory) {
  auto config = golden_config<TeacherConfig>(memory);
  config.encoder_depth = 2;
  return config;
}

RnnConfig rnn_config(const ModelConfig& memory) {
  auto config = golden_config<RnnConfig>(memory);
  config.rnn_depth = 2;
  return config;
}

/// The parts of one of our tensors that stand under the given reference names.
std::vector<std::pair<std::string, Tensor>> parts(const std::string& ours, const Tensor& tensor) {
  const std::vector<std::string> names = reference_names(ours);
  const int64_t count = tensor.size(0) / static_cast<int64_t>(names.size());
  std::vector<std::pair<std::string, Tensor>> result;
  for (size_t i = 0; i < names.size(); ++i) {
    result.emplace_back(names[i], tensor.view_rows(static_cast<int64_t>(i) * count, count));
  }
  return result;
}

}  // namespace

Golden::Golden(const std::string& name)
    : name_(name), file_(read_safetensors(kFolder + name + ".safetensors")) {}

Tensor Golden::at(const std::string& tensor) const {
  const auto it = file_.tensors.find(tensor);
  CHECK(it != file_.tensors.end(), name_, ": has no ", tensor);
  return it->second;
}

const std::string& Golden::setting(const std::string& key) const {
  const auto it = file_.metadata.find(key);
  CHECK(it != file_.metadata.end(), name_, ": has no setting ", key);
  return it->second;
}

void Golden::expect(const Tensor& ours, const std::string& tensor, double tolerance) const {
  const std::vector<float> want = at(tensor).to_vector();
  const double difference = largest_difference(ours.to_vector(), want);
  EXPECT_LE(difference, tolerance * largest_magnitude(want)) << name_ << ": " << tensor;
}

void Golden::expect_gradients(const NamedParameters& parameters, double tolerance) const {
  int compared = 0;
  for (const NamedParameter& parameter : parameters) {
    const Tensor grad = grad_of(*parameter.tensor);
    const Tensor ours = grad.defined() ? grad : Tensor::zeros(parameter.tensor->shape());
    for (const auto& [name, part] : parts(parameter.name, ours)) {
      expect(part, "grad." + name, tolerance);
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

void Golden::expect_after(const NamedParameters& parameters, double largest) const {
  int64_t total = 0, far = 0;
  for (const NamedParameter& parameter : parameters) {
    for (const auto& [name, part] : parts(parameter.name, *parameter.tensor)) {
      const std::vector<float> want = at("after." + name).to_vector();
      const std::vector<float> got = part.to_vector();
      ASSERT_EQ(want.size(), got.size()) << name;
      EXPECT_LE(largest_difference(got, want), largest) << name;
      for (size_t i = 0; i < want.size(); ++i) {
        ++total;
        if (!(std::abs(want[i] - got[i]) <= 1.4e-5)) ++far;
      }
    }
  }
  EXPECT_GT(total, 0);
  EXPECT_LE(static_cast<double>(far), 0.001 * static_cast<double>(total)) << "of " << total;
}

GoldenModels::GoldenModels(const ModelConfig& memory)
    : teacher(teacher_config(memory), 0), rnn(rnn_config(memory), 0) {
  const std::string path = std::string(kFolder) + "weights.safetensors";
  const SafetensorsFile file = read_safetensors(path);
  const std::vector<std::pair<std::string, Tensor>> theirs(file.tensors.begin(),
                                                           file.tensors.end());
  for (const NamedParameters& list : {teacher.parameters(), rnn.parameters()}) {
    load_parameters(list, from_reference(list, theirs, path), path);
  }
}

}  // namespace loopless::testing
