#include "train/data/image_folder.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "tensor/error.h"
#include "train/data/image_file.h"

namespace loopless {
namespace {

constexpr size_t kHeldOut = 10;  // one of so many images

bool is_image(const std::filesystem::path& path) {
  std::string suffix = path.extension().string();
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return suffix == ".png" || suffix == ".pgm";
}

std::vector<std::string> image_paths(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (is_image(entry->path())) paths.push_back(entry->path().string());
  }
  CHECK(!error, folder, ": cannot be read: ", error.message());
  CHECK(paths.size() >= 2, folder, ": a data set needs two images (.png or .pgm) or more, got ",
        paths.size());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

ImageFolder read_image_folder(const std::string& folder) {
  const std::vector<std::string> paths = image_paths(folder);
  ImageFolder result;
  for (size_t i = 0; i < paths.size(); ++i) {
    const Image image = read_image(paths[i]);
    const ImageFormat format{image.height, image.width, /*patch=*/2};
    if (i == 0) {
      check_format(format, paths[i]);
      result.format = format;
    }
    CHECK(format == result.format, paths[i], ": is ", image.width, " x ", image.height,
          " pixels, but the first image, ", paths[0], ", is ", result.format.width, " x ",
          result.format.height, "; all must have one size");
    const std::vector<uint8_t> tokens = tokens_of_pixels(format, image.pixels.data());
    const bool is_held_out =
        i % kHeldOut == kHeldOut - 1 || (paths.size() < kHeldOut && i + 1 == paths.size());
    std::vector<uint8_t>& split = is_held_out ? result.test : result.train;
    split.insert(split.end(), tokens.begin(), tokens.end());
  }
  return result;
}

}  // namespace loopless
