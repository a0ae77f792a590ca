/// What a text begins with, and the memory that it leaves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/checkpoint.h"
#include "train/data/dataset.h"

namespace loopless {

/// Tokens of context that a run's teacher was trained to read: Tc. For BPTT the length of its
/// recurrence, T.
int64_t context_length(const TrainConfig& config);

/// The bytes as tokens. Throws Error "`source`: byte 195 at offset 3 must be below the model's
/// vocabulary, 128" for the first that is none, and if there are no bytes at all.
std::vector<int32_t> prompt_from_bytes(std::string_view bytes, int64_t vocab_size,
                                       const std::string& source);
std::vector<int32_t> prompt_from_file(const std::string& path, int64_t vocab_size);
/// Tokens [offset, offset + count) of a split. Throws Error if it ends before.
std::vector<int32_t> prompt_from_tokens(const Tokens& tokens, int64_t offset, int64_t count);

/// Where the memory of the prompt comes from.
enum class MemorySource {
  kTeacher,  // encoder(last Tc tokens of the prompt)
  kZero,     // the cell reads the whole prompt from the empty memory
};
/// The memory [B, K, C] after each row of the prompts, i32 [B, P].
/// Throws Error if the teacher is asked for and the run has none (BPTT).
Tensor read_prompts(const Models& models, const Tensor& prompts, MemorySource source);

}  // namespace loopless
