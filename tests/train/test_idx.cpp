#include <string>
#include <vector>

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

Reading<Idx> reading(const std::string& bytes) { return reading_of(bytes, read_idx); }

TEST(Idx, reads_plain_and_compressed_files) {
  const std::string file = idx_file({2, 1, 3}, std::string("\x00\x01\x02\xfd\xfe\xff", 6));
  for (const std::string& bytes : {file, gzipped(file)}) {
    const auto got = reading(bytes);
    EXPECT_EQ(got.error, "");
    EXPECT_EQ(got.value.shape, (Shape{2, 1, 3}));
    EXPECT_EQ(got.value.bytes, (Bytes{0, 1, 2, 253, 254, 255}));
  }
}

TEST(Idx, reads_files_of_many_pieces) {
  std::string elements(3'000'001, 0);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<char>(i * i >> 7);
  const auto got = reading(gzipped(idx_file({3'000'001}, elements)));
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.value.bytes, Bytes(elements.begin(), elements.end()));
}

TEST(Idx, errors) {
  const std::string file = idx_file({2, 3}, "abcdef");
  EXPECT_EQ(reading("").error, "is no IDX file");
  EXPECT_EQ(reading("PK\x03\x04").error, "is no IDX file");
  EXPECT_EQ(reading(std::string("\0\0\x0d\x01\0\0\0\x01", 8) + "abcd").error,
            "elements of an IDX file must be of type 8 (bytes), got 13");
  EXPECT_EQ(reading(idx_file({}, "")).error, "an IDX file must have 1 to 4 dimensions, got 0");
  EXPECT_EQ(reading(idx_file({1, 1, 1, 1, 1}, "a")).error,
            "an IDX file must have 1 to 4 dimensions, got 5");
  EXPECT_EQ(reading(file.substr(0, 11)).error, "is cut off in its header; fetch it again");
  EXPECT_EQ(reading(idx_file({3, 0}, "")).error, "dimension 1 must be at least 1, got 0");
  EXPECT_EQ(reading(idx_file({~0u, ~0u, ~0u, ~0u}, "a")).error,
            "its sizes make an array that is too large");
  EXPECT_EQ(reading(idx_file({~0u, ~0u >> 5}, "abc")).error.substr(0, 18), "holds 3 bytes of t");
  EXPECT_EQ(reading(file.substr(0, file.size() - 1)).error,
            "holds 5 bytes of the 6 of its header, [2, 3]; fetch it again");
  EXPECT_EQ(reading(file + "g").error, "holds more than the 6 bytes of its header, [2, 3]");
  EXPECT_ERROR(read_idx("/nowhere/x"), "/nowhere/x: cannot open: No such file or directory");
}

TEST(Idx, compressed_files_that_are_damaged) {
  std::string elements(5000, 0);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<char>(i * i * i >> 9);
  const std::string file = gzipped(idx_file({5000}, elements));
  EXPECT_EQ(reading(file.substr(0, file.size() / 2)).error,
            "its compressed data are cut off; fetch it again");
  std::string damaged = file;
  damaged[file.size() - 6] ^= 1;  // in the checksum
  EXPECT_EQ(reading(damaged).error, "its compressed data are damaged; fetch it again");
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
