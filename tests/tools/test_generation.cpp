#include <algorithm>
#include <vector>

#include "tests/support/op_test.h"
#include "tests/support/tiny_models.h"
#include "tools/generation.h"
#include "tools/prompt.h"

namespace loopless::testing {
namespace {

using Ids = std::vector<int32_t>;

Tensor row(const Ids& ids) { return Tensor::from({1, static_cast<int64_t>(ids.size())}, ids); }

std::vector<uint8_t> written(const Models& models, const Tensor& memory,
                             const GenerationConfig& config) {
  std::vector<uint8_t> result;
  generate(*models.rnn, memory, config, [&](int64_t, uint8_t byte) { result.push_back(byte); });
  return result;
}

/// At temperature 0 each token is the likeliest of the first `bytes`.
void expect_likeliest(const Models& models, int64_t bytes) {
  Tensor memory = models.teacher->encode(row({1, 2, 3, 4}));
  const auto text = written(models, memory, {.length = 12, .sampling = {.temperature = 0}});
  ASSERT_EQ(text.size(), 12u);
  for (uint8_t token : text) {
    const std::vector<float> logits = models.rnn->readout(memory).to_vector();
    EXPECT_EQ(token, std::max_element(logits.begin(), logits.begin() + bytes) - logits.begin());
    memory = models.rnn->step(memory, row({token}));
  }
}

TEST(Generation, greedy_text_is_the_likeliest_token_each_time) {
  expect_likeliest(tiny_models("smt", 4, 128), 128);
}

TEST(Generation, writes_bytes_even_if_the_vocabulary_is_larger) {
  expect_likeliest(tiny_models("smt", 4, 2000), 256);
}

TEST(Generation, draws_depend_on_the_seed_and_the_position_alone) {
  const Models models = tiny_models("smt", 4);
  const Tensor memory = models.teacher->encode(row({1, 2, 3, 4}));
  const auto longer = written(models, memory, {.length = 40, .seed = 5});
  auto shorter = written(models, memory, {.length = 20, .seed = 5});
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
  EXPECT_NE(longer, written(models, memory, {.length = 40, .seed = 6}));
}

TEST(Generation, rows_are_written_side_by_side) {
  const Models models = tiny_models("smt", 4);
  const Tensor prompts = Tensor::from<int32_t>({2, 4}, {1, 2, 3, 4, 90, 80, 70, 60});
  std::vector<uint8_t> rows[2];
  generate(*models.rnn, read_prompts(models, prompts, MemorySource::kTeacher),
           {.length = 30, .sampling = {.temperature = 3}, .seed = 5, .below = 16},
           [&](int64_t r, uint8_t token) { rows[r].push_back(token); });
  const auto alone =
      written(models, models.teacher->encode(row({1, 2, 3, 4})),
              {.length = 30, .sampling = {.temperature = 3}, .seed = 5, .below = 16});
  EXPECT_EQ(rows[0], alone);
  EXPECT_EQ(rows[1].size(), 30u);
  EXPECT_NE(rows[1], alone);  // draws of its own
  for (const auto& one : rows) EXPECT_LT(*std::max_element(one.begin(), one.end()), 16);
}

TEST(Prompt, teacher_encodes_its_last_tokens) {
  for (const char* method : {"smt", "dmt"}) {
    const Models models = tiny_models(method, 4);
    const auto memory = [&](const Ids& prompt) {
      return read_prompts(models, row(prompt), MemorySource::kTeacher).to_vector();
    };
    EXPECT_EQ(memory({9, 8, 1, 2, 3, 4}), models.teacher->encode(row({1, 2, 3, 4})).to_vector());
    EXPECT_EQ(memory({1, 2}), models.teacher->encode(row({1, 2})).to_vector());
  }
}

TEST(Prompt, rnn_reads_all_of_it_from_zero) {
  const Models models = tiny_models("bptt", 2);
  Tensor memory = Tensor::zeros({1, 2, 8});
  for (int32_t id : {5, 6, 7}) memory = models.rnn->step(memory, row({id}));
  EXPECT_EQ(read_prompts(models, row({5, 6, 7}), MemorySource::kZero).to_vector(),
            memory.to_vector());
}

TEST(Prompt, from_bytes_and_tokens) {
  EXPECT_EQ(prompt_from_bytes("ab\n", 128, "--prompt"), (Ids{97, 98, 10}));
  EXPECT_EQ(prompt_from_bytes("\xff", 256, "--prompt"), (Ids{255}));
  const std::vector<uint8_t> data = {1, 2, 3, 4};
  EXPECT_EQ(prompt_from_tokens({"t", nullptr, data.data(), 4}, 1, 3), (Ids{2, 3, 4}));
}

TEST(Prompt, errors) {
  EXPECT_ERROR(prompt_from_bytes("abc\xc3\xa4", 128, "--prompt"),
               "--prompt: byte 195 at offset 3 must be below the model's vocabulary, 128");
  EXPECT_ERROR(prompt_from_bytes("", 128, "f"),
               "f: the prompt must have at least one byte, got none");
  EXPECT_ERROR(prompt_from_file("/nowhere/p", 128),
               "/nowhere/p: cannot open: No such file or directory");
  const std::vector<uint8_t> data = {1, 2, 3, 4};
  EXPECT_ERROR(prompt_from_tokens({"t", nullptr, data.data(), 4}, 2, 3),
               "t: a prompt of 3 tokens from offset 2 on ends after the last of 4 tokens");
  EXPECT_ERROR(read_prompts(tiny_models("bptt", 4), row({1}), MemorySource::kTeacher),
               "memory: the run has no teacher (its method is bptt); let the RNN read the prompt "
               "from zero");
}

}  // namespace
}  // namespace loopless::testing
