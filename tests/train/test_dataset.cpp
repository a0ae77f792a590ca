#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "tensor/npy.h"
#include "tests/support/files.h"
#include "train/data/dataset.h"

namespace loopless {
namespace {

using testing::read_bytes;
using testing::TemporaryFolder;
using testing::write_bytes;

std::string message_of(const std::string& spec, int64_t vocab_size = 256) {
  try {
    open_dataset(spec, vocab_size);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

void write_tokens(const std::string& path, const std::vector<uint8_t>& tokens) {
  write_npy(path, Tensor::from({static_cast<int64_t>(tokens.size())}, tokens));
}

std::vector<uint8_t> values(const Tokens& tokens) {
  return {tokens.data, tokens.data + tokens.size};
}

/// The exit status of a shell command.
int status_of(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Works in `folder` to the end of the scope.
class InFolder {
 public:
  explicit InFolder(const std::string& folder) { std::filesystem::current_path(folder); }
  ~InFolder() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_ = std::filesystem::current_path();
};

TEST(Dataset, reads_two_npy_files) {
  const TemporaryFolder folder;
  write_tokens(folder / "a.npy", {1, 2, 3, 255});
  write_tokens(folder / "b.npy", {0});
  const Dataset dataset = open_dataset("npy:" + (folder / "a.npy") + "," + (folder / "b.npy"), 256);
  EXPECT_EQ(values(dataset.train), (std::vector<uint8_t>{1, 2, 3, 255}));
  EXPECT_EQ(values(dataset.test), (std::vector<uint8_t>{0}));
  EXPECT_EQ(dataset.train.name, folder / "a.npy");
}

TEST(Dataset, reads_a_folder_by_name) {
  const TemporaryFolder folder;
  const InFolder in_folder(folder / "");
  std::filesystem::create_directories("data/mine");
  write_tokens("data/mine/train.npy", {5, 6});
  write_tokens("data/mine/test.npy", {7});
  const Dataset dataset = open_dataset("mine", 8);
  EXPECT_EQ(values(dataset.train), (std::vector<uint8_t>{5, 6}));
  EXPECT_EQ(values(dataset.test), (std::vector<uint8_t>{7}));
}

TEST(Dataset, holds_out_the_last_tenth_of_a_text) {
  const TemporaryFolder folder;
  write_bytes(folder / "a,b.txt", "0123456789012345678X!");  // 21 bytes: two to test on
  const Dataset dataset = open_dataset("text:" + (folder / "a,b.txt"), 256);
  EXPECT_EQ(dataset.train.size, 19);
  EXPECT_EQ(values(dataset.test), (std::vector<uint8_t>{'X', '!'}));
}

TEST(Dataset, copies_outlive_the_data_set) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.txt", std::string(100, 'a'));
  Tokens tokens;
  { tokens = open_dataset("text:" + (folder / "a.txt"), 256).train; }
  EXPECT_EQ(values(tokens), std::vector<uint8_t>(90, 'a'));
}

TEST(Dataset, names_the_first_token_outside_of_the_vocabulary) {
  const TemporaryFolder folder;
  std::vector<uint8_t> tokens(200'000, 9);  // several blocks of the check
  write_tokens(folder / "good.npy", tokens);
  tokens[150'000] = 11;
  tokens[150'001] = 200;
  write_tokens(folder / "bad.npy", tokens);
  const std::string good = folder / "good.npy", bad = folder / "bad.npy";
  const std::string expected =
      bad + ": token 11 at offset 150000 must be below the vocabulary's size, 11";
  EXPECT_EQ(message_of("npy:" + bad + "," + good, 11), expected);
  EXPECT_EQ(message_of("npy:" + good + "," + bad, 11), expected);
  EXPECT_EQ(message_of("npy:" + good + "," + bad, 201), "nothing thrown");
  EXPECT_EQ(message_of("npy:" + good + "," + bad, 300), "nothing thrown");
}

TEST(Dataset, counts_offsets_from_the_begin_of_a_text) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.txt";
  write_bytes(path, std::string(95, 'a') +
                        "\xc3\xa4"
                        "aaa");
  EXPECT_EQ(message_of("text:" + path, 128),
            path + ": token 195 at offset 95 must be below the vocabulary's size, 128");
}

TEST(Dataset, errors) {
  const TemporaryFolder folder;
  const InFolder in_folder(folder / "");
  const std::string specs = kDatasetForms;
  EXPECT_EQ(message_of("kjv"),
            "data/kjv/train.npy: does not exist; run tools/data/kjv.sh, which makes it");
  EXPECT_EQ(message_of("mine"),
            "data/mine/train.npy: does not exist; put the tokens there, or "
            "choose another --dataset: " +
                specs);
  EXPECT_EQ(message_of(""), "dataset: must be " + specs + ", got ''");
  EXPECT_EQ(message_of("../mine"), "dataset: must be " + specs + ", got '../mine'");
  EXPECT_EQ(message_of("http:x"), "dataset: must be " + specs + ", got 'http:x'");
  EXPECT_EQ(message_of("text:"), "dataset: text: must be followed by the name of a file");
  EXPECT_EQ(message_of("text:no.txt"), "no.txt: cannot open: No such file or directory");
  EXPECT_EQ(message_of("text:."), ".: cannot open: Is a directory");
  for (const char* files : {"", "a.npy", ",b.npy", "a.npy,", "a,b,c"}) {
    EXPECT_EQ(message_of(std::string("npy:") + files),
              std::string("dataset: npy: must be followed by two files, TRAIN,TEST, got '") +
                  files + "'");
  }
  write_npy("f32.npy", Tensor::zeros({4}));
  write_npy("two.npy", Tensor::zeros({2, 3}, kU8));
  EXPECT_EQ(message_of("npy:f32.npy,f32.npy"),
            "f32.npy: tokens must be a one-dimensional array of u8, got f32 [4]");
  EXPECT_EQ(message_of("npy:two.npy,two.npy"),
            "two.npy: tokens must be a one-dimensional array of u8, got u8 [2, 3]");
}

const std::string kScript = std::filesystem::absolute("tools/data/kjv.sh").string();

TEST(Kjv, has_the_published_counts) {
  if (status_of("command -v bible >/dev/null") != 0) GTEST_SKIP() << "bible is not installed";
  const TemporaryFolder folder;
  const std::string made = folder / "made";
  ASSERT_EQ(status_of(kScript + " " + made), 0);
  const Dataset dataset = open_dataset("npy:" + made + "/train.npy," + made + "/test.npy", 128);
  EXPECT_EQ(dataset.train.size, 3'919'996);
  EXPECT_EQ(dataset.test.size, 217'854);
  const auto text = [](const Tokens& tokens, int64_t begin, int64_t count) {
    return std::string(tokens.data + begin, tokens.data + begin + count);
  };
  EXPECT_EQ(text(dataset.train, 0, 61),
            "In the beginning God created the heaven and the earth.\nAnd th");
  EXPECT_EQ(text(dataset.test, 0, 26), "The proverbs of Solomon th");
  EXPECT_EQ(text(dataset.test, 217'854 - 6, 6), "Amen.\n");

  // A second run leaves the files alone; a file of the wrong size is made anew.
  const auto time = std::filesystem::last_write_time(made + "/train.npy");
  ASSERT_EQ(status_of(kScript + " " + made), 0);
  EXPECT_EQ(std::filesystem::last_write_time(made + "/train.npy"), time);
  write_bytes(made + "/test.npy", "short");
  ASSERT_EQ(status_of(kScript + " " + made), 0);
  EXPECT_EQ(open_dataset("npy:" + made + "/train.npy," + made + "/test.npy", 128).test.size,
            217'854);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(made), {}), 2);
}

TEST(Kjv, writes_nothing_if_the_text_is_another) {
  const TemporaryFolder folder;
  const std::string bible = folder / "bible", made = folder / "made", log = folder / "log";
  write_bytes(bible, "#!/bin/sh\necho 'Ge1:1 In the end'\n");
  std::filesystem::permissions(bible, std::filesystem::perms::owner_all);
  EXPECT_EQ(status_of("PATH=" + (folder / "") + ":$PATH " + kScript + " " + made + " 2>" + log), 1);
  EXPECT_EQ(read_bytes(log),
            "kjv: expected 3919996 characters in train, got 11; bible has another text\n");
  EXPECT_FALSE(std::filesystem::exists(made));
}

}  // namespace
}  // namespace loopless
