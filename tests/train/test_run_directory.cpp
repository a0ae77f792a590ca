#include <filesystem>
#include <string>

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
    RunDirectory::create(path, overwrite);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(RunDirectory, makes_its_folders) {
  const TemporaryFolder folder;
  const RunDirectory run = RunDirectory::create(folder / "runs/a//", false);
  EXPECT_EQ(run.path(), folder / "runs/a");
  EXPECT_EQ(run.config(), folder / "runs/a/config.json");
  EXPECT_EQ(run.metrics(), folder / "runs/a/metrics.jsonl");
  EXPECT_EQ(run.samples(), folder / "runs/a/samples");
  EXPECT_EQ(run.figures(), folder / "runs/a/figures");
  EXPECT_TRUE(fs::is_directory(run.checkpoints()));
  // Nothing has been written: the same folder may be taken again.
  EXPECT_EQ(message_of(run.path()), "nothing thrown");
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
              path + ": already holds a run; choose another --save_dir or pass --overwrite");
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
  const RunDirectory run = RunDirectory::create(path, true);
  EXPECT_TRUE(fs::is_empty(run.checkpoints()));
  for (const std::string& item : {run.config(), run.metrics(), run.samples(), run.figures()}) {
    EXPECT_FALSE(fs::exists(item)) << item;
  }
  EXPECT_TRUE(fs::exists(path + "/notes.txt"));
  EXPECT_TRUE(fs::exists(path + "/finetuned/file"));
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
