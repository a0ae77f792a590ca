#include <gtest/gtest.h>

#include "tensor/safetensors.h"
#include "tests/support/files.h"
#include "tests/support/op_test.h"
#include "tests/support/tiny_models.h"
#include "train/checkpoint.h"

namespace loopless::testing {
namespace {

NamedParameters parameters_of(const Models& models) {
  NamedParameters list = models.rnn->parameters();
  for (const NamedParameter& parameter : models.teacher->parameters()) list.push_back(parameter);
  return list;
}

/// A run's folder with the checkpoint of tiny models at `step`.
void write_run(const std::string& path, const Models& models, int64_t step) {
  std::filesystem::create_directories(path + "/checkpoints");
  write_checkpoint(checkpoint_path(path, step), models.config, step, parameters_of(models));
}

TEST(Checkpoint, comes_back_as_it_was) {
  const TemporaryFolder folder;
  const Models models = tiny_models("smt", 12);
  write_run(folder / "run", models, 7);
  Models read = load_models(folder / "run");
  EXPECT_EQ(read.step, 7);
  EXPECT_EQ(read.config.smt.Tc, 12);
  const NamedParameters a = parameters_of(models), b = parameters_of(read);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].tensor->to_vector(), b[i].tensor->to_vector()) << a[i].name;
  }
}

TEST(Checkpoint, the_newest_of_a_run_is_read) {
  const TemporaryFolder folder;
  const Models models = tiny_models("smt", 12);
  for (int64_t step : {900, 1000, 5}) write_run(folder / "run", models, step);
  EXPECT_EQ(read_checkpoint(folder / "run").step, 1000);
  EXPECT_EQ(read_checkpoint(checkpoint_path(folder / "run", 5)).step, 5);
  EXPECT_ERROR(read_checkpoint(folder / "."),
               (folder / ".") + ": holds no checkpoint (step_*.safetensors)");
}

TEST(Checkpoint, parts_of_it_start_other_models) {
  const TemporaryFolder folder;
  const Models models = tiny_models("smt", 12);
  write_run(folder / "run", models, 7);
  Rnn rnn(models.config.rnn, 99);
  load_weights(rnn.parameters(), folder / "run");
  EXPECT_EQ(rnn.parameters()[0].tensor->to_vector(),
            models.rnn->parameters()[0].tensor->to_vector());

  RnnConfig wider = models.config.rnn;
  wider.d_model = 16;
  wider.mem_size = 32;
  Rnn other(wider, 0);
  const std::string parameter =
      checkpoint_path(folder / "run", 7) + ": parameter rnn.embed.weight is f32 [128, 8], ";
  EXPECT_ERROR(load_weights(other.parameters(), folder / "run"),
               parameter + "this model has f32 [128, 16]");
  RnnConfig more_tokens = models.config.rnn;
  more_tokens.vocab_size = 200;
  Rnn another(more_tokens, 0);
  EXPECT_ERROR(load_weights(another.parameters(), folder / "run"),
               parameter + "this model has f32 [200, 8]");
}

TEST(Checkpoint, errors) {
  const TemporaryFolder folder;
  EXPECT_ERROR(read_checkpoint(folder / "none"),
               (folder / "none") + ": cannot open: No such file or directory");
  const Models models = tiny_models("smt", 12);
  write_run(folder / "run", models, 7);
  const std::string path = checkpoint_path(folder / "run", 7), bytes = read_bytes(path);
  write_bytes(path, bytes.substr(0, bytes.size() - 1));
  EXPECT_ERROR(read_checkpoint(path),
               path +
                   ": \"teacher.decoder.logits.bias\" ends at byte 59456 behind the header, the "
                   "file at byte 59455; copy it again");

  write_safetensors(path, {{"a", Tensor::zeros({1})}}, {});
  EXPECT_ERROR(read_checkpoint(path),
               path + ": is no checkpoint of loopless: its metadata lacks \"format\"");
  const auto with = [&](const std::string& format, const std::string& step) {
    write_safetensors(path, {{"a", Tensor::zeros({1})}},
                      {{"format", format}, {"step", step}, {"config", "{"}});
  };
  with("loopless checkpoint 0", "1");
  EXPECT_ERROR(read_checkpoint(path), path +
                                          ": its format is \"loopless checkpoint 0\", this version "
                                          "reads \"loopless checkpoint 1\"");
  with("loopless checkpoint 1", "-1");
  EXPECT_ERROR(read_checkpoint(path),
               path + ": the step in its metadata must be a whole number, got \"-1\"");
  with("loopless checkpoint 1", "1");
  EXPECT_ERROR(read_checkpoint(path), path + ": the configuration in its metadata is no JSON");
}

}  // namespace
}  // namespace loopless::testing
