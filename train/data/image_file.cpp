#include "train/data/image_file.h"

#include <cctype>
#include <png.h>
#include <string_view>

#include "tensor/error.h"
#include "tensor/file.h"

namespace loopless {
namespace {

constexpr int64_t kMaxPixels = int64_t{1} << 26;
constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";

void check_size(const std::string& path, int64_t height, int64_t width) {
  CHECK(height >= 1 && width >= 1 && height <= kMaxPixels && width <= kMaxPixels / height, path,
        ": an image must have 1 to ", kMaxPixels, " pixels, got ", width, " x ", height);
}

/// Frees what libpng holds at the end of a scope.
struct PngImage {
  png_image header{};
  PngImage() { header.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&header); }
  PngImage(const PngImage&) = delete;
};

Image decode_png(const std::string& path, std::string_view bytes) {
  PngImage png;
  const auto check = [&](int ok) {
    CHECK(ok, path, ": is no PNG that can be read: ", printable(png.header.message));
  };
  check(png_image_begin_read_from_memory(&png.header, bytes.data(), bytes.size()));
  check_size(path, png.header.height, png.header.width);
  png.header.format = PNG_FORMAT_GRAY;
  Image image{png.header.height, png.header.width, {}};
  // Deflate packs at most 1,032 bytes into one, and a pixel has at least one bit.
  CHECK(image.height * image.width <= 8 * 1032 * static_cast<int64_t>(bytes.size()), path,
        ": is too short for ", image.width, " x ", image.height, " pixels");
  image.pixels.resize(image.height * image.width);
  const png_color white{255, 255, 255};
  check(png_image_finish_read(&png.header, &white, image.pixels.data(), 0, nullptr));
  return image;
}

/// Reads the words of a PGM file: numbers apart by spaces, comments from # to the end of a line.
class PgmReader {
 public:
  PgmReader(const std::string& path, std::string_view bytes) : path_(path), bytes_(bytes) {}

  /// The next number. Throws Error if there is none or it exceeds `largest`.
  int64_t number(int64_t largest) {
    skip_space();
    const size_t begin = at_;
    int64_t value = 0;
    for (; at_ < bytes_.size() && std::isdigit(byte()) && value <= largest; ++at_)
      value = 10 * value + (byte() - '0');
    CHECK(at_ > begin, path_, ": a number was expected at byte ", begin, " of the PGM file");
    CHECK(value <= largest, path_, ": the number at byte ", begin,
          " of the PGM file must be at most ", largest);
    return value;
  }
  /// What follows the one space after the header.
  std::string_view rest() const { return bytes_.substr(std::min(at_ + 1, bytes_.size())); }

 private:
  unsigned char byte() const { return static_cast<unsigned char>(bytes_[at_]); }
  void skip_space() {
    for (bool comment = false; at_ < bytes_.size(); ++at_) {
      if (byte() == '#') comment = true;
      if (byte() == '\n') comment = false;
      if (!comment && !std::isspace(byte())) return;
    }
  }

  const std::string& path_;
  std::string_view bytes_;
  size_t at_ = 2;  // after "P2" or "P5"
};

Image decode_pgm(const std::string& path, std::string_view bytes) {
  const bool is_plain = bytes[1] == '2';
  PgmReader reader(path, bytes);
  Image image;
  image.width = reader.number(kMaxPixels);
  image.height = reader.number(kMaxPixels);
  check_size(path, image.height, image.width);
  const int64_t white = reader.number(255), count = image.height * image.width;
  CHECK(white >= 1, path, ": the largest value of a PGM file must be 1 to 255, got 0");
  const std::string_view rest = reader.rest();
  const auto size = static_cast<int64_t>(rest.size());
  // Each plain number takes a digit, and a space before the next.
  CHECK(is_plain ? size >= 2 * count - 1 : size == count, path, ": holds ", size,
        " bytes after its header, which do not make ", image.width, " x ", image.height, " pixels");
  image.pixels.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = is_plain ? reader.number(white) : static_cast<uint8_t>(rest[i]);
    CHECK(value <= white, path, ": pixel ", i, " must be at most ", white, ", got ", value);
    image.pixels.push_back(static_cast<uint8_t>((value * 255 + white / 2) / white));
  }
  return image;
}

}  // namespace

Image read_image(const std::string& path) {
  const MappedFile file(path);
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()),
                               static_cast<size_t>(file.size()));
  if (bytes.starts_with(kPngMagic)) return decode_png(path, bytes);
  CHECK(bytes.starts_with("P2") || bytes.starts_with("P5"), path,
        ": is neither a PNG nor a PGM image");
  return decode_pgm(path, bytes);
}

std::vector<uint8_t> encode_png(int64_t height, int64_t width, const std::vector<uint8_t>& rgb) {
  check_size("png", height, width);
  PngImage png;
  png.header.width = static_cast<png_uint_32>(width);
  png.header.height = static_cast<png_uint_32>(height);
  png.header.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png.header);
  std::vector<uint8_t> bytes(size);
  CHECK(png_image_write_to_memory(&png.header, bytes.data(), &size, 0, rgb.data(), 0, nullptr),
        "png: cannot be made: ", png.header.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace loopless
