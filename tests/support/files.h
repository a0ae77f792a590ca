/// Files for the tests of readers and writers.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <unistd.h>
#include <zlib.h>

#include <gtest/gtest.h>

#include "tensor/error.h"

namespace loopless::testing {

/// A new empty folder, removed with all it holds at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "loopless.XXXXXX").string();
    if (mkdtemp(name.data())) path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  int64_t file_count() const {
    return std::distance(std::filesystem::directory_iterator(path_), {});
  }

 private:
  std::string path_;
};

/// Not over an old file: some file systems flush one that is emptied and written anew to the disk.
inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One to four random changes of a file, most of them in its first `header` bytes: a byte replaced
/// (by any byte, or by one that means something in a header), inserted or removed, a piece copied
/// elsewhere, the end cut off, or bytes added.
inline std::string mutated(std::string bytes, size_t header, std::mt19937_64& random) {
  static constexpr char kTelling[] = "\0\x01\x7f\x80\xff{}[](),:'\"\\0123456789-.eTFNn \n";
  const std::string telling(kTelling, sizeof kTelling - 1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (size_t change = 0, changes = 1 + below(4); change < changes; ++change) {
    const size_t reach = below(8) ? std::min(header, bytes.size()) : bytes.size();
    const size_t at = reach ? below(reach) : 0;
    switch (bytes.empty() ? 6 : below(7)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] ^= static_cast<char>(1 << below(8));
        break;
      case 2:
        bytes[at] = telling[below(telling.size())];
        break;
      case 3:
        bytes.insert(at, 1, telling[below(telling.size())]);
        break;
      case 4:
        bytes.erase(at, 1 + below(4));
        break;
      case 5:
        bytes.insert(below(bytes.size()), bytes.substr(at, 1 + below(40)));
        break;
      case 6:
        below(2) ? bytes.resize(at) : void(bytes += telling.substr(below(telling.size())));
        break;
    }
  }
  return bytes;
}

/// What a reader makes of a file: a value, or its error's text without the file's name.
template <class Value>
struct Reading {
  Value value{};
  std::string error;
};

/// `read(path)` for a file of these bytes.
template <class Read>
auto reading_of(const std::string& bytes, const Read& read) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_bytes(path, bytes);
  Reading<decltype(read(path))> reading;
  try {
    reading.value = read(path);
  } catch (const Error& thrown) {
    reading.error = thrown.what();
    EXPECT_EQ(reading.error.substr(0, path.size() + 2), path + ": ");
    reading.error = reading.error.substr(std::min(path.size() + 2, reading.error.size()));
  }
  return reading;
}

/// The bytes as a .gz file holds them.
inline std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;  // the largest window, gzip's header
  EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY), Z_OK);
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

}  // namespace loopless::testing
