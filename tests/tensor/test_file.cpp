#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tensor/file.h"
#include "tests/support/files.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

std::string content(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.data()), static_cast<size_t>(file.size())};
}

TEST(MappedFile, shows_the_bytes) {
  const TemporaryFolder folder;
  const std::string text("one\0two", 7);
  write_bytes(folder / "x", text);
  MappedFile file(folder / "x");
  EXPECT_EQ(content(file), text);
  const MappedFile moved(std::move(file));
  EXPECT_EQ(content(moved), text);
  EXPECT_EQ(moved.path(), folder / "x");
  write_bytes(folder / "empty", "");
  EXPECT_EQ(MappedFile(folder / "empty").size(), 0);
}

TEST(MappedFile, outlives_a_replacement) {
  const TemporaryFolder folder;
  write_bytes(folder / "x", "old");
  const MappedFile file(folder / "x");
  AtomicFile replacement(folder / "x");
  replacement.write("new one");
  replacement.commit();
  EXPECT_EQ(content(file), "old");
}

TEST(MappedFile, errors) {
  const TemporaryFolder folder;
  const std::string missing = folder / "missing", here = folder / ".", pipe = folder / "pipe";
  EXPECT_ERROR(MappedFile{missing}, missing + ": cannot open: No such file or directory");
  EXPECT_ERROR(MappedFile{here}, here + ": cannot open: Is a directory");
  EXPECT_ERROR(MappedFile{""}, ": cannot open: No such file or directory");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_ERROR(MappedFile{pipe}, pipe + ": cannot open: not a regular file");
  write_bytes(folder / "x", "");
  EXPECT_ERROR(MappedFile{folder / "x/y"}, folder / "x/y" + ": cannot open: Not a directory");
}

TEST(AtomicFile, appears_with_commit) {
  const TemporaryFolder folder;
  write_bytes(folder / "x", "old");
  {
    AtomicFile file(folder / "x");
    file.write("a new ");
    file.write("text");
    EXPECT_EQ(read_bytes(folder / "x"), "old");
    file.commit();
    EXPECT_EQ(read_bytes(folder / "x"), "a new text");
  }
  EXPECT_EQ(read_bytes(folder / "x"), "a new text");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(AtomicFile, leaves_nothing_without_commit) {
  const TemporaryFolder folder;
  write_bytes(folder / "x", "old");
  { AtomicFile(folder / "x").write("half of it"); }
  EXPECT_EQ(read_bytes(folder / "x"), "old");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(AtomicFile, a_full_disk_leaves_the_old_file) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_bytes(path, "old");
  // A limit on the size of files stands for the full disk.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low = {4096, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const auto write_too_much = [&] {
    AtomicFile file(path);
    file.write(std::string(10'000, 'x'));
    file.commit();
  };
  EXPECT_ERROR(write_too_much(), path + ": cannot write: File too large");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_bytes(path), "old");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(AtomicFile, errors) {
  const TemporaryFolder folder;
  const std::string nowhere = folder / "missing/x", taken = folder / "folder";
  EXPECT_ERROR(AtomicFile{nowhere}, nowhere + ": cannot write: No such file or directory");
  std::filesystem::create_directories(taken + "/inside");
  EXPECT_ERROR(AtomicFile{taken}.commit(), taken + ": cannot write: Is a directory");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(Printable, keeps_a_message_on_one_short_line) {
  EXPECT_EQ(printable("plain text"), "plain text");
  EXPECT_EQ(printable(std::string("a\nb\0c\x80\x1b", 7)), "a?b?c??");
  EXPECT_EQ(printable(std::string(61, 'x')), std::string(60, 'x') + "...");
}

}  // namespace
}  // namespace loopless::testing
