#include <filesystem>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "tests/support/files.h"
#include "train/run_directory.h"

namespace loopless {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;
using testing::write_bytes;

std::string message_of(const std::string& path, bool overwrite = false) {
  try {
    RunDirectory(path).create(overwrite);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(RunDirectory, makes_its_folders) {
  const TemporaryFolder folder;
  RunDirectory run(folder / "runs/a//");
  EXPECT_FALSE(fs::exists(folder / "runs"));
  run.create(false);
  EXPECT_EQ(run.path(), folder / "runs/a");
  EXPECT_EQ(run.config(), folder / "runs/a/config.json");
  EXPECT_EQ(run.metrics(), folder / "runs/a/metrics.jsonl");
  EXPECT_EQ(run.samples(), folder / "runs/a/samples");
  EXPECT_EQ(run.figures(), folder / "runs/a/figures");
  EXPECT_TRUE(fs::is_directory(run.checkpoints()));
  // Nothing has been written: the same folder may be taken again.
  EXPECT_FALSE(run.holds_run());
  run.create(false);
}

TEST(RunDirectory, takes_a_folder_with_other_files) {
  const TemporaryFolder folder;
  write_bytes(folder / "notes.txt", "mine");
  EXPECT_EQ(message_of(folder / ""), "nothing thrown");
}

TEST(RunDirectory, refuses_a_folder_that_holds_a_run) {
  for (const char* item : {"config.json", "metrics.jsonl", "checkpoints/step_1.safetensors",
                           "samples/a.txt", "figures/a.png"}) {
    const TemporaryFolder folder;
    const std::string path = folder / "a";
    fs::create_directories(fs::path(path + "/" + item).parent_path());
    write_bytes(path + "/" + item, "x");
    EXPECT_EQ(message_of(path),
              path +
                  ": already holds a run; --resume auto continues it, --overwrite replaces it, or "
                  "choose another --save_dir");
    EXPECT_TRUE(fs::exists(path + "/" + item));
  }
}

TEST(RunDirectory, overwriting_removes_the_run_and_nothing_else) {
  const TemporaryFolder folder;
  const std::string path = folder / "a";
  for (const char* item : {"checkpoints", "samples", "figures", "finetuned"}) {
    fs::create_directories(path + "/" + item);
    write_bytes(path + "/" + item + "/file", "x");
  }
  for (const char* item : {"config.json", "metrics.jsonl", "notes.txt"}) {
    write_bytes(path + "/" + item, "x");
  }
  RunDirectory run(path);
  run.create(true);
  EXPECT_TRUE(fs::is_empty(run.checkpoints()));
  for (const std::string& item : {run.config(), run.metrics(), run.samples(), run.figures()}) {
    EXPECT_FALSE(fs::exists(item)) << item;
  }
  EXPECT_TRUE(fs::exists(path + "/notes.txt"));
  EXPECT_TRUE(fs::exists(path + "/finetuned/file"));
}

TEST(RunDirectory, is_taken_by_one_at_a_time) {
  const TemporaryFolder folder;
  const std::string path = folder / "a";
  {
    RunDirectory run(path);
    run.create(false);
    const std::string lock = testing::read_bytes(path + "/lock");
    EXPECT_EQ(lock.rfind(std::to_string(::getpid()) + " on ", 0), 0u) << lock;
    EXPECT_EQ(message_of(path), path + ": is in use by process " + lock +
                                    "; wait for its end, or choose another --save_dir");
  }
  EXPECT_FALSE(fs::exists(path + "/lock"));
  // A lock that a killed process left behind holds nobody up.
  write_bytes(path + "/lock", "1 on nowhere");
  EXPECT_EQ(message_of(path), "nothing thrown");
}

TEST(RunDirectory, is_given_up_if_another_has_made_it_anew) {
  const TemporaryFolder folder;
  RunDirectory first(folder / "a");
  first.create(false);
  fs::remove_all(folder / "a");
  first.ensure();  // nobody has: it is made again, and locked
  EXPECT_TRUE(fs::exists(folder / "a/lock"));
  fs::remove_all(folder / "a");
  RunDirectory second(folder / "a");
  second.create(false);
  const std::string lock = testing::read_bytes(folder / "a/lock");
  try {
    first.ensure();
    ADD_FAILURE() << "two have the folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), (folder / "a") + ": is in use by process " + lock +
                                "; wait for its end, or choose another --save_dir");
  }
}

TEST(RunDirectory, removes_what_was_never_finished) {
  const TemporaryFolder folder;
  RunDirectory run(folder / "a");
  run.create(false);
  for (const char* name : {"step_00000005.safetensors", "step_00000010.safetensors.tmp.123",
                           "mine.safetensors.tmp.1"}) {
    write_bytes(run.checkpoints() + "/" + name, "x");
  }
  run.remove_unfinished();
  EXPECT_TRUE(fs::exists(run.checkpoints() + "/step_00000005.safetensors"));
  EXPECT_FALSE(fs::exists(run.checkpoints() + "/step_00000010.safetensors.tmp.123"));
  EXPECT_TRUE(fs::exists(run.checkpoints() + "/mine.safetensors.tmp.1"));
}

TEST(RunDirectory, errors) {
  const TemporaryFolder folder;
  write_bytes(folder / "file", "x");
  EXPECT_EQ(message_of(folder / "file"),
            (folder / "file") + ": cannot create the folder: Not a directory");
  EXPECT_EQ(message_of(folder / "file/a"),
            (folder / "file/a") + ": cannot create the folder: Not a directory");
  EXPECT_EQ(message_of("/proc/a"), "/proc/a: cannot create the folder: No such file or directory");
}

}  // namespace
}  // namespace loopless
