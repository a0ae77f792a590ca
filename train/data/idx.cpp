#include "train/data/idx.h"

#include <algorithm>
#include <memory>
#include <zlib.h>

#include "tensor/error.h"
#include "tensor/file.h"

namespace loopless {
namespace {

constexpr int64_t kPiece = 1 << 20;  // bytes that are unpacked at a time
constexpr uint8_t kTypeU8 = 8;
constexpr int kMaxRank = 4;

/// Reads a file as it is, or unpacks it if it is compressed.
class Unpacker {
 public:
  explicit Unpacker(const std::string& path) : path_(path) {
    MappedFile check_that_it_opens(path);  // zlib does not say why it cannot
    file_.reset(gzopen(path.c_str(), "rb"));
    CHECK(file_, path, ": cannot open: out of memory");
  }

  /// Up to `count` bytes, at most kPiece; fewer at the end of the file only.
  int64_t read(uint8_t* to, int64_t count) {
    const int got = gzread(file_.get(), to, static_cast<unsigned>(count));
    int error = Z_OK;
    gzerror(file_.get(), &error);
    // Z_BUF_ERROR: the compressed data stop in the middle.
    CHECK(got >= 0 && error == Z_OK, path_, ": its compressed data are ",
          error == Z_BUF_ERROR ? "cut off" : "damaged", "; fetch it again");
    return got;
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose_r(file); }
  };
  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

Shape read_header(const std::string& path, Unpacker& file) {
  uint8_t magic[4], size[4];
  const bool whole = file.read(magic, 4) == 4;
  CHECK(whole && magic[0] == 0 && magic[1] == 0, path, ": is no IDX file");
  CHECK(magic[2] == kTypeU8, path, ": elements of an IDX file must be of type 8 (bytes), got ",
        static_cast<int>(magic[2]));
  CHECK(magic[3] >= 1 && magic[3] <= kMaxRank, path, ": an IDX file must have 1 to ", kMaxRank,
        " dimensions, got ", static_cast<int>(magic[3]));
  std::vector<int64_t> sizes;
  for (int i = 0; i < magic[3]; ++i) {
    CHECK(file.read(size, 4) == 4, path, ": is cut off in its header; fetch it again");
    sizes.push_back(int64_t{size[0]} << 24 | size[1] << 16 | size[2] << 8 | size[3]);
    CHECK(sizes.back() >= 1, path, ": dimension ", i, " must be at least 1, got 0");
  }
  CHECK(Shape::is_valid(sizes), path, ": its sizes make an array that is too large");
  return Shape(sizes.data(), magic[3]);
}

}  // namespace

Idx read_idx(const std::string& path) {
  Unpacker file(path);
  Idx idx{read_header(path, file), {}};
  const int64_t expected = idx.shape.numel();
  std::vector<uint8_t> piece(kPiece);
  // One byte more than expected is asked for, so that one too many is seen.
  for (int64_t got = 1; got > 0;) {
    const int64_t left = expected - static_cast<int64_t>(idx.bytes.size());
    got = file.read(piece.data(), std::min(kPiece, left + 1));
    CHECK(got <= left, path, ": holds more than the ", expected, " bytes of its header, ",
          idx.shape);
    idx.bytes.insert(idx.bytes.end(), piece.begin(), piece.begin() + got);
  }
  CHECK(static_cast<int64_t>(idx.bytes.size()) == expected, path, ": holds ", idx.bytes.size(),
        " bytes of the ", expected, " of its header, ", idx.shape, "; fetch it again");
  return idx;
}

}  // namespace loopless
