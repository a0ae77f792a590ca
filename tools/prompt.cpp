#include "tools/prompt.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "tensor/file.h"
#include "train/columns.h"

namespace loopless {

int64_t context_length(const TrainConfig& config) {
  if (config.method == "smt") return config.smt.Tc;
  if (config.method == "dmt") return config.dmt.Tc;
  return config.bptt.T;
}

std::vector<int32_t> prompt_from_bytes(std::string_view bytes, int64_t vocab_size,
                                       const std::string& source) {
  CHECK(!bytes.empty(), source, ": the prompt must have at least one byte, got none");
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < bytes.size(); ++i) {
    tokens.push_back(static_cast<uint8_t>(bytes[i]));
    CHECK(tokens.back() < vocab_size, source, ": byte ", tokens.back(), " at offset ", i,
          " must be below the model's vocabulary, ", vocab_size);
  }
  return tokens;
}

std::vector<int32_t> prompt_from_file(const std::string& path, int64_t vocab_size) {
  const MappedFile file(path);
  const char* first = reinterpret_cast<const char*>(file.data());
  return prompt_from_bytes({first, static_cast<size_t>(file.size())}, vocab_size, path);
}

std::vector<int32_t> prompt_from_tokens(const Tokens& tokens, int64_t offset, int64_t count) {
  CHECK(offset <= tokens.size - count, tokens.name, ": a prompt of ", count, " tokens from offset ",
        offset, " on ends after the last of ", tokens.size, " tokens");
  return std::vector<int32_t>(tokens.data + offset, tokens.data + offset + count);
}

Tensor read_prompts(const Models& models, const Tensor& prompts, MemorySource source) {
  const NoGrad no_graph;
  const int64_t batch = prompts.shape()[0], size = prompts.shape()[1];
  if (source == MemorySource::kTeacher) {
    CHECK(models.teacher, "memory: the run has no teacher (its method is ", models.config.method,
          "); let the RNN read the prompt from zero");
    const int64_t count = std::min(size, context_length(models.config));
    return models.teacher->encode(columns(prompts, size - count, count));
  }
  Tensor memory = models.rnn->empty_memory(batch);
  for (int64_t t = 0; t < size; ++t) memory = models.rnn->step(memory, columns(prompts, t, 1));
  return memory;
}

}  // namespace loopless
