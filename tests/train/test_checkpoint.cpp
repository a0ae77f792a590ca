#include <gtest/gtest.h>

#include "tensor/safetensors.h"
#include "tests/support/files.h"
#include "tests/support/op_test.h"
#include "tests/support/tiny_models.h"
#include "train/checkpoint.h"

namespace loopless::testing {
namespace {

NamedParameters parameters_of(const Models& models) {
  return joined(models.rnn->parameters(), models.teacher->parameters());
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

TEST(Checkpoint, holds_what_going_on_needs) {
  const TemporaryFolder folder;
  const Models models = tiny_models("smt", 12);
  TrainingState state;
  state.progress = {.counts = {.steps = 7, .updates = 5, .skipped = 2, .skipped_in_a_row = 1},
                    .seconds = 1.0 / 3,
                    .test_loss = std::nullopt,
                    .best_test_loss = 0.1,
                    .best_step = 4,
                    .data = "some"};
  state.moments = {{"rnn.embed.weight", random_tensor({128, 8}, 1), random_tensor({128, 8}, 2)}};
  write_checkpoint(folder / "a.safetensors", models.config, 7, parameters_of(models), &state);
  const Checkpoint read = read_checkpoint(folder / "a.safetensors");
  EXPECT_EQ(read.parameters.size(), parameters_of(models).size());
  ASSERT_TRUE(read.training);
  const Progress& progress = read.training->progress;
  EXPECT_EQ(progress.counts.steps, 7);
  EXPECT_EQ(progress.counts.updates, 5);
  EXPECT_EQ(progress.counts.skipped, 2);
  EXPECT_EQ(progress.counts.skipped_in_a_row, 1);
  EXPECT_EQ(progress.seconds, 1.0 / 3);
  EXPECT_EQ(progress.test_loss, std::nullopt);
  EXPECT_EQ(progress.best_test_loss, 0.1);
  EXPECT_EQ(progress.best_step, 4);
  EXPECT_EQ(progress.data, "some");
  ASSERT_EQ(read.training->moments.size(), 1u);
  EXPECT_EQ(read.training->moments[0].parameter, "rnn.embed.weight");
  EXPECT_EQ(read.training->moments[0].m.to_vector(), state.moments[0].m.to_vector());
  EXPECT_EQ(read.training->moments[0].v.to_vector(), state.moments[0].v.to_vector());
  // Whoever wants the models alone reads it as before.
  EXPECT_EQ(load_models(folder / "a.safetensors").step, 7);
}

/// A flipped bit anywhere in the elements is found; none in the header goes by unnoticed either,
/// unless it is in the spaces that pad it.
TEST(Checkpoint, damage_is_found) {
  const TemporaryFolder folder;
  const Models models = tiny_models("smt", 12);
  write_run(folder / "run", models, 7);
  const std::string path = checkpoint_path(folder / "run", 7), good = read_bytes(path);
  const size_t header_end = 8 + static_cast<unsigned char>(good[0]) +
                            256 * static_cast<size_t>(static_cast<unsigned char>(good[1]));
  for (size_t at = 9; at < good.size(); at += 997) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    if (at < header_end && good[at] == ' ') continue;
    write_bytes(path, bad);
    EXPECT_THROW(read_checkpoint(path), Error) << at;
  }
  std::string bad = good;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  write_bytes(path, bad);
  EXPECT_ERROR(read_checkpoint(path),
               path + ": is damaged: its contents do not have the checksum that it states");
}

/// Names that the reference gives its weights stand for ours.
TEST(Checkpoint, pickles_stand_for_our_files) {
  const TemporaryFolder folder;
  const Models models = tiny_models("smt", 12);
  write_run(folder / "run", models, 7);
  write_run(folder / "run", models, 9);
  const std::string newest = checkpoint_path(folder / "run", 9);
  EXPECT_EQ(weights_file(folder / "run//rnn.pkl"), newest);
  write_bytes(folder / "run/rnn.pkl", "a pickle");
  EXPECT_EQ(weights_file(folder / "run/rnn.pkl"), newest);
  write_bytes(folder / "run/rnn.safetensors", "ours");
  EXPECT_EQ(weights_file(folder / "run/rnn.pkl"), folder / "run/rnn.safetensors");
  EXPECT_EQ(weights_file(folder / "run/teacher.pkl"), newest);
  EXPECT_EQ(weights_file(folder / "run"), newest);

  std::filesystem::create_directories(folder / "other");
  EXPECT_ERROR(weights_file(folder / "other/rnn.pkl"),
               (folder / "other/rnn.pkl") +
                   ": there is no such file, no rnn.safetensors beside "
                   "it, and no run with checkpoints in its folder");
  write_bytes(folder / "other/rnn.pkl", "a pickle");
  EXPECT_ERROR(weights_file(folder / "other/rnn.pkl"),
               (folder / "other/rnn.pkl") +
                   ": is a Python pickle, which is not read here; convert "
                   "it with tools/convert_reference.py");
}

TEST(Checkpoint, a_run_starts_from_weights_of_its_own_kind) {
  const TemporaryFolder folder;
  Models models = tiny_models("smt", 12);
  write_run(folder / "run", models, 7);
  TrainConfig config = models.config;
  config.run.load_rnn_path = folder / "run/rnn.pkl";
  config.run.load_teacher_path = checkpoint_path(folder / "run", 7);
  const auto start = [&] {
    return load_start(config, models.rnn->parameters(), models.teacher->parameters());
  };
  const std::vector<std::string> notes = start();
  ASSERT_EQ(notes.size(), 2u);
  const std::string path = checkpoint_path(folder / "run", 7);
  EXPECT_EQ(notes[0], "teacher weights: from " + path);
  EXPECT_EQ(notes[1],
            "RNN weights: from " + path + ", which " + (folder / "run/rnn.pkl") + " stands for");
  config.teacher.rotary_pos_emb = false;  // shows in no parameter
  EXPECT_ERROR(start(), path + ": has --teacher.rotary_pos_emb True, this run has False");
  config.teacher.rotary_pos_emb = true;
  models.rnn->parameters()[0].tensor->data()[3] = NAN;
  write_run(folder / "run", models, 7);
  EXPECT_ERROR(start(), path +
                            ": parameter rnn.embed.weight holds 1 values that are not finite "
                            "numbers");
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
  EXPECT_ERROR(read_checkpoint(path),
               path + ": the configuration in its metadata is not what loopless writes");
}

}  // namespace
}  // namespace loopless::testing
