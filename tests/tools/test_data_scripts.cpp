// The scripts of tools/data, on files made here and a server on this machine.
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/tools/run_tool.h"
#include "train/data/dataset.h"

namespace loopless::testing {
namespace {

namespace fs = std::filesystem;

const std::string kScripts = fs::absolute("tools/data").string();

/// A server of the files in a folder, to the end of the scope.
class Server {
 public:
  explicit Server(const std::string& folder) {
    pipe_ =
        popen(("exec /usr/bin/python3 tests/tools/range_server.py " + folder + " & echo $!; wait")
                  .c_str(),
              "r");
    EXPECT_EQ(fscanf(pipe_, "%d %d", &process_, &port_), 2);
  }
  ~Server() {
    kill(process_, SIGTERM);
    pclose(pipe_);
  }
  Server(const Server&) = delete;
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  FILE* pipe_;
  int process_ = 0, port_ = 0;
};

class Download : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_command("command -v curl").status != 0) GTEST_SKIP() << "curl is not installed";
  }
  Download() {
    fs::create_directories(served_);
    for (int i = 0; i < 20000; ++i) content_ += std::to_string(i * i);
    write_bytes(served_ + "/stories.txt", content_);
    const std::string sum = run_command("sha256sum <" + served_ + "/stories.txt").output;
    checksum_ = sum.substr(0, 64);
  }
  /// download() of common.sh into the folder `into`.
  Outcome download(const std::string& mirror, const std::string& checksum) {
    return run_command("mkdir -p " + into_ + " && LOOPLESS_MIRROR=" + mirror +
                       " bash -c 'set -euo pipefail; name=stories; source " + kScripts +
                       "/common.sh; download https://example.org/a/stories.txt " + into_ +
                       "/stories.txt " + checksum + "'");
  }
  std::string requests() const { return read_bytes(served_ + "/log"); }

  TemporaryFolder folder_;
  const std::string served_ = folder_ / "served", into_ = folder_ / "into";
  std::string content_, checksum_;
};

TEST_F(Download, fetches_a_file_whole) {
  const Server server(served_);
  const Outcome outcome = download(server.url(), checksum_);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "stories: downloading " + server.url() + "/stories.txt\n");
  EXPECT_EQ(read_bytes(into_ + "/stories.txt"), content_);
  EXPECT_EQ(std::distance(fs::directory_iterator(into_), {}), 1);
}

TEST_F(Download, goes_on_where_an_earlier_one_was_cut_off) {
  const Server server(served_);
  fs::create_directories(into_);
  write_bytes(into_ + "/stories.txt.part", content_.substr(0, 70001));
  EXPECT_EQ(download(server.url(), checksum_).status, 0);
  EXPECT_EQ(requests(), "/stories.txt from 70001\n");
  EXPECT_EQ(read_bytes(into_ + "/stories.txt"), content_);

  // Cut off after the last byte, before the rename.
  fs::rename(into_ + "/stories.txt", into_ + "/stories.txt.part");
  EXPECT_EQ(download(server.url(), checksum_).status, 0);
  EXPECT_EQ(read_bytes(into_ + "/stories.txt"), content_);
}

TEST_F(Download, removes_what_has_another_checksum) {
  const Server server(served_);
  const Outcome outcome = download(server.url(), std::string(64, '0'));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("stories: " + server.url() +
                                "/stories.txt: has another checksum than expected and was removed; "
                                "run this again\n"),
            std::string::npos)
      << outcome.output;
  EXPECT_TRUE(fs::is_empty(into_));
}

TEST_F(Download, says_what_cannot_be_fetched) {
  std::string closed;
  {
    const Server server(served_);
    closed = server.url();
    fs::remove(served_ + "/stories.txt");
    const Outcome missing = download(server.url(), checksum_);
    EXPECT_EQ(missing.status, 1);
    EXPECT_NE(missing.output.find("error: 404); run this again to go on\n"), std::string::npos)
        << missing.output;
  }
  const Outcome offline = download(closed, checksum_);
  EXPECT_EQ(offline.status, 1);
  EXPECT_NE(offline.output.find(closed + "/stories.txt: cannot be fetched (curl: (7) "),
            std::string::npos)
      << offline.output;
  EXPECT_FALSE(fs::exists(into_));
}

/// A file of `count` images; image i has the grey of i.
std::string idx_images(uint32_t count) {
  std::string file("\0\0\x08\x03", 4);
  for (uint32_t size : {count, 28u, 28u}) {
    for (int shift : {24, 16, 8, 0}) file += static_cast<char>(size >> shift);
  }
  for (uint32_t i = 0; i < count; ++i) file.append(784, static_cast<char>(i));
  return file;
}

class DataScripts : public ::testing::Test {
 protected:
  DataScripts() { fs::create_directories(from_); }
  Outcome run(const std::string& script) {
    return run_command(kScripts + "/" + script + ".sh " + made_ + " --from " + from_);
  }
  Dataset made() const {
    return open_dataset("npy:" + made_ + "/train.npy," + made_ + "/test.npy", 256);
  }

  TemporaryFolder folder_;
  const std::string from_ = folder_ / "from", made_ = folder_ / "made";
};

TEST_F(DataScripts, fashion_mnist_from_its_files) {
  write_bytes(from_ + "/train-images-idx3-ubyte", idx_images(60000));
  write_bytes(from_ + "/t10k-images-idx3-ubyte", idx_images(10000));
  run_command("gzip -1 " + from_ + "/t10k-images-idx3-ubyte");
  const Outcome outcome = run("fashion_mnist");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "");
  const Dataset dataset = made();
  EXPECT_EQ(dataset.train.size, 47'040'000);
  EXPECT_EQ(dataset.test.size, 7'840'000);
  EXPECT_EQ(dataset.image, (ImageFormat{28, 28, 1}));
  for (int64_t image : {0, 1, 777, 9999}) {
    EXPECT_EQ(dataset.train.data[784 * image], image % 256);
    EXPECT_EQ(dataset.test.data[784 * image + 783], image % 256);
  }
  // A second run leaves the files alone.
  const auto time = fs::last_write_time(made_ + "/train.npy");
  EXPECT_EQ(run("fashion_mnist").status, 0);
  EXPECT_EQ(fs::last_write_time(made_ + "/train.npy"), time);
}

TEST_F(DataScripts, mnist_splits_the_test_digits_where_they_are_alone) {
  write_bytes(from_ + "/t10k-images-idx3-ubyte", idx_images(10000));
  const Outcome outcome = run("mnist");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "mnist: the training images are not in " + from_ +
                                "; 9000 of the test images stand in for them\n");
  EXPECT_EQ(made().train.size, 9000 * 784);
  EXPECT_EQ(made().test.size, 1000 * 784);
  EXPECT_EQ(made().train.data[9000 * 784 - 1], 8999 % 256);
  EXPECT_EQ(made().test.data[0], 9000 % 256);
}

TEST_F(DataScripts, errors) {
  const std::string file = from_ + "/t10k-images-idx3-ubyte";
  const auto expect_error = [&](const std::string& text) {
    const Outcome outcome = run("mnist");
    EXPECT_EQ(outcome.output, "mnist: " + text + "\n");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_FALSE(fs::exists(made_));
  };
  expect_error(file + ".gz: does not exist");
  write_bytes(file, "PK");
  expect_error(file + ": is no IDX file of 28 x 28 images");
  write_bytes(file, idx_images(3).substr(0, 1000));
  expect_error(file + ": holds 984 bytes of the 2352 of its 3 images");
  write_bytes(file, idx_images(3));
  expect_error(file + ": must hold 10000 images, got 3");
  run_command("gzip " + file + " && truncate -s -9 " + file + ".gz");
  expect_error(file + ".gz: is damaged; fetch it again");

  const Outcome absent = run_command(kScripts + "/fashion_mnist.sh " + made_ + " --from /nowhere");
  EXPECT_EQ(absent.output,
            "fashion_mnist: /nowhere: does not exist; install Debian's package "
            "dataset-fashion-mnist, or give --from FOLDER\n");
  EXPECT_EQ(absent.status, 1);
  for (const char* script : {"kjv", "mnist", "fashion_mnist", "tinystories"}) {
    const std::string path = kScripts + "/" + script + ".sh";
    EXPECT_EQ(run_command(path + " a b").status, 2);
    EXPECT_EQ(run_command(path + " --from").status, 2);
    const Outcome help = run_command(path + " --help");
    EXPECT_EQ(help.status, 0);
    EXPECT_NE(help.output.find("\nUsage: tools/data/" + std::string(script)), std::string::npos);
  }
}

}  // namespace
}  // namespace loopless::testing
