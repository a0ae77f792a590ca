#include "tensor/npy.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace loopless {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyHeader {
  DType dtype;
  Shape shape;
  int64_t offset;  // bytes before the first element
};

/// Reads the header's text, a Python literal with exactly three keys:
///   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderReader {
 public:
  HeaderReader(const MappedFile& file, int64_t begin, int64_t end)
      : path_(file.path()), text_(reinterpret_cast<const char*>(file.data()), end), at_(begin) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      read_item();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_spaces();
    CHECK(at_ + 1 == text_.size() && text_[at_] == '\n', where(),
          "the header must end in spaces and one newline; ", kAdvice);
    CHECK(dtype_ && is_fortran_order_ && shape_, path_,
          ": the header must have the keys descr, fortran_order and shape; ", kAdvice);
    CHECK(!*is_fortran_order_, path_,
          ": Fortran order is not supported; save it with numpy.ascontiguousarray");
    return {*dtype_, *shape_, static_cast<int64_t>(text_.size())};
  }

 private:
  static constexpr const char* kAdvice = "save it again with numpy.save";

  void read_item() {
    const size_t start = at_;
    const std::string_view key = read_string();
    expect(':');
    bool is_new = true;
    if (key == "descr") {
      is_new = !std::exchange(dtype_, read_dtype());
    } else if (key == "fortran_order") {
      is_new = !std::exchange(is_fortran_order_, read_bool());
    } else if (key == "shape") {
      is_new = !std::exchange(shape_, read_shape());
    } else {
      at_ = start;
      fail("unknown key '", printable(key), "' in the header");
    }
    CHECK(is_new, path_, ": the header has the key ", key, " twice; ", kAdvice);
  }

  std::string_view read_string() {
    skip_spaces();
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const size_t end = text_.find(quote, at_);
    if (end == text_.npos) fail("a string in the header has no end");
    const std::string_view string = text_.substr(at_, end - at_);
    at_ = end + 1;
    return string;
  }

  DType read_dtype() {
    if (accept('[')) fail("records are not supported; save one field as f4, i4 or u1");
    const std::string_view descr = read_string();
    if (descr == "<f4") return kF32;
    if (descr == "<i4") return kI32;
    if (descr == "|u1") return kU8;
    CHECK(descr.empty() || descr[0] != '>', path_, ": big-endian elements '", printable(descr),
          "' are not supported; save x.astype('<", printable(descr.substr(1)), "')");
    detail::throw_error(path_, ": elements '", printable(descr),
                        "' are not supported, only '<f4', '<i4' and '|u1'; save x.astype('<f4')");
  }

  bool read_bool() {
    skip_spaces();
    if (accept("True")) return true;
    if (!accept("False")) fail("fortran_order must be True or False");
    return false;
  }

  Shape read_shape() {
    std::vector<int64_t> sizes;
    expect('(');
    bool has_comma = true;
    while (!accept(')')) {
      if (!has_comma) fail("expected ',' in the shape");
      sizes.push_back(read_size());
      has_comma = accept(',');
      CHECK(sizes.size() <= Shape::kMaxRank, path_, ": the array has more than ", Shape::kMaxRank,
            " dimensions; save it reshaped");
    }
    // (3) is a number in Python; a shape of one dimension is (3,).
    if (sizes.size() == 1 && !has_comma) fail("expected ',' in the shape");
    CHECK(Shape::is_valid(sizes), path_, ": the shape in the header has too many elements");
    return Shape(sizes.data(), static_cast<int>(sizes.size()));
  }

  int64_t read_size() {
    skip_spaces();
    const size_t start = at_;
    int64_t size = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (size > Shape::kMaxNumel / 10) fail("a size in the shape is too large");
      size = size * 10 + (text_[at_++] - '0');
    }
    if (at_ == start) fail("the shape must be a tuple of sizes");
    return size;
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool accept(std::string_view word) {
    skip_spaces();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool accept(char c) { return accept(std::string_view(&c, 1)); }

  void expect(char c) {
    if (!accept(c)) fail("expected ", c, " in the header, got ", printable(text_.substr(at_, 1)));
  }

  std::string where() const { return path_ + ": byte " + std::to_string(at_) + ": "; }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    detail::throw_error(where(), parts..., "; ", kAdvice);
  }

  const std::string& path_;
  std::string_view text_;  // the file up to the end of the header: positions are byte offsets
  size_t at_;
  std::optional<DType> dtype_;
  std::optional<bool> is_fortran_order_;
  std::optional<Shape> shape_;
};

NpyHeader read_header(const MappedFile& file) {
  constexpr int64_t kPrefix = 10;  // bytes: magic, version, length of the header in version 1.0
  const std::string& path = file.path();
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  const std::string_view text(reinterpret_cast<const char*>(bytes), file.size());
  CHECK(text.substr(0, kMagic.size()) == kMagic, path,
        ": not an .npy file: it must start with the bytes \\x93NUMPY");
  CHECK(file.size() >= kPrefix, path, ": the file is cut: it has ", file.size(),
        " bytes, and the header needs more; copy it again");
  const int major = bytes[6], minor = bytes[7];
  CHECK(major >= 1 && major <= 3 && minor == 0, path, ": format version ", major, ".", minor,
        " is not supported, only 1.0, 2.0 and 3.0; save it again with numpy.save");
  int64_t begin = kPrefix, length = bytes[8] | bytes[9] << 8;
  if (major > 1) {
    begin = kPrefix + 2;
    CHECK(file.size() >= begin, path, ": the file is cut: it has ", file.size(),
          " bytes, and the header needs more; copy it again");
    length |= int64_t{bytes[10]} << 16 | int64_t{bytes[11]} << 24;
  }
  CHECK(length <= file.size() - begin, path, ": the file is cut: its header ends at byte ",
        begin + length, ", the file at byte ", file.size(), "; copy it again");
  return HeaderReader(file, begin, begin + length).read();
}

}  // namespace

NpyMap::NpyMap(std::string path) : file_(std::move(path)) {
  const NpyHeader header = read_header(file_);
  dtype_ = header.dtype;
  shape_ = header.shape;
  offset_ = header.offset;
  const int64_t element = size_of(dtype_);
  CHECK(offset_ % element == 0, file_.path(), ": the elements start at byte ", offset_,
        ", which is not a multiple of ", element, "; save it again with numpy.save");
  const int64_t expected = offset_ + numel() * element;
  CHECK(file_.size() >= expected, file_.path(), ": the file is cut: ", shape_, " ", dtype_,
        " ends at byte ", expected, ", the file at byte ", file_.size(), "; copy it again");
  CHECK(file_.size() == expected, file_.path(), ": ", file_.size() - expected,
        " bytes too many: ", shape_, " ", dtype_, " ends at byte ", expected, ", the file at byte ",
        file_.size(), "; save one array a file");
}

Tensor read_npy(const std::string& path) {
  const NpyMap map(path);
  Tensor result = Tensor::empty(map.shape(), map.dtype());
  if (map.numel() > 0) std::memcpy(result.raw(), map.raw(), result.bytes());
  return result;
}

void write_npy(const std::string& path, const Tensor& x) {
  constexpr size_t kPrefix = 10;     // bytes: magic, version 1.0, length of the header
  constexpr size_t kAlignment = 64;  // bytes, as numpy does
  CHECK(x.defined(), path, ": cannot write: the tensor is undefined");
  CHECK(x.dtype() != kBF16, path, ": cannot write: .npy has no type for bf16");
  std::string shape;
  for (int i = 0; i < x.rank(); ++i) shape += (i ? ", " : "") + std::to_string(x.size(i));
  if (x.rank() == 1) shape += ",";
  const char* descr = x.dtype() == kF32 ? "<f4" : x.dtype() == kI32 ? "<i4" : "|u1";
  std::string header =
      std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(kAlignment - 1 - (kPrefix + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string prefix(kMagic);
  for (const size_t byte : {size_t{1}, size_t{0}, header.size() % 256, header.size() / 256}) {
    prefix += static_cast<char>(byte);
  }
  AtomicFile file(path);
  file.write(prefix + header);
  file.write(x.raw(), x.bytes());
  file.commit();
}

}  // namespace loopless
