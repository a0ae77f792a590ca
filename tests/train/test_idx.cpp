#include <string>
#include <vector>
#include <zlib.h>

#include "tests/support/files.h"
#include "tests/support/op_test.h"
#include "train/data/dataset.h"
#include "train/data/idx.h"

namespace loopless::testing {
namespace {

using Bytes = std::vector<uint8_t>;

/// A file of bytes with these sizes.
std::string idx_file(const std::vector<uint32_t>& sizes, const std::string& elements) {
  std::string file{0, 0, 8, static_cast<char>(sizes.size())};
  for (uint32_t size : sizes) {
    for (int shift : {24, 16, 8, 0}) file += static_cast<char>(size >> shift);
  }
  return file + elements;
}

std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;  // the largest window, gzip's header
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string result(deflateBound(&stream, bytes.size()) + 32, 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

/// What reading a file of these bytes gives; an error's text without the file's name.
class Reading {
 public:
  explicit Reading(const std::string& bytes) {
    const std::string path = folder_ / "x.idx";
    write_bytes(path, bytes);
    try {
      idx = read_idx(path);
    } catch (const Error& thrown) {
      error = thrown.what();
      EXPECT_EQ(error.substr(0, path.size() + 2), path + ": ");
      error = error.substr(path.size() + 2);
    }
  }
  Idx idx;
  std::string error;

 private:
  TemporaryFolder folder_;
};

TEST(Idx, reads_plain_and_compressed_files) {
  const std::string file = idx_file({2, 1, 3}, std::string("\x00\x01\x02\xfd\xfe\xff", 6));
  for (const std::string& bytes : {file, gzipped(file)}) {
    const Reading got(bytes);
    EXPECT_EQ(got.error, "");
    EXPECT_EQ(got.idx.shape, (Shape{2, 1, 3}));
    EXPECT_EQ(got.idx.bytes, (Bytes{0, 1, 2, 253, 254, 255}));
  }
}

TEST(Idx, reads_files_of_many_pieces) {
  std::string elements(3'000'001, 0);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<char>(i * i >> 7);
  const Reading got(gzipped(idx_file({3'000'001}, elements)));
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.idx.bytes, Bytes(elements.begin(), elements.end()));
}

TEST(Idx, errors) {
  const std::string file = idx_file({2, 3}, "abcdef");
  EXPECT_EQ(Reading("").error, "is no IDX file");
  EXPECT_EQ(Reading("PK\x03\x04").error, "is no IDX file");
  EXPECT_EQ(Reading(std::string("\0\0\x0d\x01\0\0\0\x01", 8) + "abcd").error,
            "elements of an IDX file must be of type 8 (bytes), got 13");
  EXPECT_EQ(Reading(idx_file({}, "")).error, "an IDX file must have 1 to 4 dimensions, got 0");
  EXPECT_EQ(Reading(idx_file({1, 1, 1, 1, 1}, "a")).error,
            "an IDX file must have 1 to 4 dimensions, got 5");
  EXPECT_EQ(Reading(file.substr(0, 11)).error, "is cut off in its header; fetch it again");
  EXPECT_EQ(Reading(idx_file({3, 0}, "")).error, "dimension 1 must be at least 1, got 0");
  EXPECT_EQ(Reading(idx_file({~0u, ~0u, ~0u, ~0u}, "a")).error,
            "its sizes make an array that is too large");
  EXPECT_EQ(Reading(idx_file({~0u, ~0u >> 5}, "abc")).error.substr(0, 18), "holds 3 bytes of t");
  EXPECT_EQ(Reading(file.substr(0, file.size() - 1)).error,
            "holds 5 bytes of the 6 of its header, [2, 3]; fetch it again");
  EXPECT_EQ(Reading(file + "g").error, "holds more than the 6 bytes of its header, [2, 3]");
  EXPECT_ERROR(read_idx("/nowhere/x"), "/nowhere/x: cannot open: No such file or directory");
}

TEST(Idx, compressed_files_that_are_damaged) {
  std::string elements(5000, 0);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<char>(i * i * i >> 9);
  const std::string file = gzipped(idx_file({5000}, elements));
  EXPECT_EQ(Reading(file.substr(0, file.size() / 2)).error,
            "its compressed data are cut off; fetch it again");
  std::string damaged = file;
  damaged[file.size() - 6] ^= 1;  // in the checksum
  EXPECT_EQ(Reading(damaged).error, "its compressed data are damaged; fetch it again");
}

TEST(Idx, makes_data_sets) {
  const TemporaryFolder folder;
  const std::string train = folder / "train", test = folder / "test.gz";
  const auto open = [&] { return open_dataset("idx:" + train + "," + test, 256); };
  write_bytes(train, idx_file({2, 1, 3}, "abcdef"));
  write_bytes(test, gzipped(idx_file({1, 1, 3}, "ghi")));
  const Dataset dataset = open();
  EXPECT_EQ(std::string(dataset.train.data, dataset.train.data + dataset.train.size), "abcdef");
  EXPECT_EQ(std::string(dataset.test.data, dataset.test.data + dataset.test.size), "ghi");
  ASSERT_TRUE(dataset.image);
  EXPECT_EQ(*dataset.image, (ImageFormat{1, 3, 1}));

  write_bytes(test, idx_file({1, 3, 1}, "ghi"));
  EXPECT_ERROR(open(),
               test + ": must hold elements like those of " + train + ", [2, 1, 3], got [1, 3, 1]");
  write_bytes(train, idx_file({6}, "abcdef"));
  write_bytes(test, idx_file({3}, "ghi"));
  EXPECT_FALSE(open().image);
}

}  // namespace
}  // namespace loopless::testing
