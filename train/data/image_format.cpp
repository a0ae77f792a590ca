#include "train/data/image_format.h"

#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tensor/error.h"
#include "tensor/file.h"

namespace loopless {
namespace {

constexpr int64_t kMaxSide = 65535;
constexpr uint8_t kWhite = 255;
constexpr uint8_t kThreshold = 128;  // the smallest value that becomes white

}  // namespace

void check_format(const ImageFormat& format, const std::string& source) {
  const auto is_side = [](int64_t side) { return side >= 1 && side <= kMaxSide; };
  CHECK(is_side(format.height) && is_side(format.width), source,
        ": the sides of an image must have 1 to ", kMaxSide, " pixels, got ", format.width, " x ",
        format.height);
  CHECK(format.patch == 1 || format.patch == 2, source, ": patch must be 1 or 2, got ",
        format.patch);
  CHECK(format.height % format.patch == 0 && format.width % format.patch == 0, source,
        ": patches of 2 x 2 pixels need images with even sides, got ", format.width, " x ",
        format.height);
}

std::vector<uint8_t> tokens_of_pixels(const ImageFormat& format, const uint8_t* pixels) {
  if (format.patch == 1) return {pixels, pixels + format.tokens()};
  std::vector<uint8_t> tokens;
  tokens.reserve(format.tokens());
  const auto bit = [&](int64_t y, int64_t x) {
    return pixels[y * format.width + x] >= kThreshold ? 1 : 0;
  };
  for (int64_t y = 0; y < format.height; y += 2) {
    for (int64_t x = 0; x < format.width; x += 2) {
      tokens.push_back(static_cast<uint8_t>(bit(y, x) | bit(y, x + 1) << 1 | bit(y + 1, x) << 2 |
                                            bit(y + 1, x + 1) << 3));
    }
  }
  return tokens;
}

std::vector<uint8_t> pixels_of_tokens(const ImageFormat& format, const uint8_t* tokens) {
  if (format.patch == 1) return {tokens, tokens + format.tokens()};
  std::vector<uint8_t> pixels(format.height * format.width);
  for (int64_t y = 0; y < format.height; ++y) {
    for (int64_t x = 0; x < format.width; ++x) {
      const uint8_t token = tokens[y / 2 * (format.width / 2) + x / 2];
      pixels[y * format.width + x] = token >> (y % 2 * 2 + x % 2) & 1 ? kWhite : 0;
    }
  }
  return pixels;
}

std::optional<ImageFormat> read_image_format(const std::string& folder) {
  const std::string path = folder + "/image.json";
  if (!std::filesystem::exists(path)) return std::nullopt;
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto has = [&](const char* key) {
    return json.contains(key) && json[key].is_number_integer();
  };
  CHECK(json.is_object() && json.size() == 3 && has("height") && has("width") && has("patch"), path,
        R"(: must be like {"height": 28, "width": 28, "patch": 1})");
  const ImageFormat format{json["height"].get<int64_t>(), json["width"].get<int64_t>(),
                           json["patch"].get<int64_t>()};
  check_format(format, path);
  return format;
}

}  // namespace loopless
