#include "models/reference_names.h"

#include <array>
#include <map>
#include <string_view>

#include "tensor/error.h"

namespace loopless {
namespace {

struct Part {
  std::string_view ours;
  std::string_view theirs;
};

constexpr std::array<Part, 7> kWhole = {{
    {"teacher.embed.weight", "teacher.embed.weight"},
    {"teacher.registers.weight", "teacher.encoder_mem_register.weight"},
    {"teacher.decoder.logits.weight", "teacher.to_logits.weight"},
    {"teacher.decoder.logits.bias", "teacher.to_logits.bias"},
    {"rnn.embed.weight", "rnn.embed.weight"},
    {"rnn.readout.logits.weight", "rnn.to_logits.weight"},
    {"rnn.readout.logits.bias", "rnn.to_logits.bias"},
}};

constexpr std::array<Part, 4> kStacks = {{
    {"teacher.encoder.", "teacher.encoder."},
    {"teacher.decoder.", "teacher.decoder."},
    {"rnn.cell.", "rnn.rnn."},
    {"rnn.readout.", "rnn.decoder."},
}};

/// Inside layer l: the reference numbers sublayers, 2l for attention and 2l + 1 for feed-forward.
struct LayerPart {
  std::string_view ours;
  int sublayer;
  std::vector<std::string_view> theirs;
};

const std::vector<LayerPart>& layer_parts() {
  static const std::vector<LayerPart> parts = {
      {"attention.norm.gain", 0, {"0.0.g"}},
      {"attention.qkv.weight", 0, {"1.to_q.weight", "1.to_k.weight", "1.to_v.weight"}},
      {"attention.out.weight", 0, {"1.to_out.weight"}},
      {"feed_forward.norm.gain", 1, {"0.0.g"}},
      {"feed_forward.up.weight", 1, {"1.ff.0.0.weight"}},
      {"feed_forward.up.bias", 1, {"1.ff.0.0.bias"}},
      {"feed_forward.down.weight", 1, {"1.ff.2.weight"}},
      {"feed_forward.down.bias", 1, {"1.ff.2.bias"}},
  };
  return parts;
}

/// Names of "layer3.attention.out.weight" inside a stack; empty if it is no such name.
std::vector<std::string> layer_names(std::string_view inside, const std::string& stack) {
  if (inside == "final_norm.gain") return {stack + "final_norm.g"};
  const size_t dot = inside.find('.');
  if (!inside.starts_with("layer") || dot == std::string_view::npos) return {};
  const int layer = std::stoi(std::string(inside.substr(5, dot - 5)));
  std::vector<std::string> names;
  for (const LayerPart& part : layer_parts()) {
    if (inside.substr(dot + 1) != part.ours) continue;
    for (std::string_view theirs : part.theirs) {
      names.push_back(stack + "layers." + std::to_string(2 * layer + part.sublayer) + "." +
                      std::string(theirs));
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> reference_names(const std::string& ours) {
  for (const Part& part : kWhole) {
    if (ours == part.ours) return {std::string(part.theirs)};
  }
  for (const Part& stack : kStacks) {
    if (!ours.starts_with(stack.ours)) continue;
    std::vector<std::string> names =
        layer_names(std::string_view(ours).substr(stack.ours.size()), std::string(stack.theirs));
    if (!names.empty()) return names;
  }
  detail::throw_error("reference names: the reference has no parameter for ", ours);
}

std::vector<std::pair<std::string, Tensor>> from_reference(
    const NamedParameters& parameters, const std::vector<std::pair<std::string, Tensor>>& theirs,
    const std::string& source) {
  const std::map<std::string, Tensor> found(theirs.begin(), theirs.end());
  std::vector<std::pair<std::string, Tensor>> result;
  for (const NamedParameter& parameter : parameters) {
    const Shape& shape = parameter.tensor->shape();
    const std::vector<std::string> names = reference_names(parameter.name);
    const int64_t count = shape[0] / static_cast<int64_t>(names.size());
    const Tensor stacked = Tensor::empty(shape);
    for (size_t i = 0; i < names.size(); ++i) {
      const auto it = found.find(names[i]);
      CHECK(it != found.end(), source, ": parameter ", names[i], " is missing");
      const Tensor part = stacked.view_rows(static_cast<int64_t>(i) * count, count);
      CHECK(it->second.dtype() == kF32 && it->second.shape() == part.shape(), source,
            ": parameter ", names[i], " is ", it->second.dtype(), " ", it->second.shape(),
            ", this model has f32 ", part.shape());
      part.copy_from(it->second);
    }
    result.push_back({parameter.name, stacked});
  }
  return result;
}

}  // namespace loopless
