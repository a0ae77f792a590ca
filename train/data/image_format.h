/// Images as runs of tokens, in raster order.
///
///   patch 1   a token is a pixel, 0 black to 255 white
///   patch 2   a token is a square of 2 x 2 black or white pixels, one of 16: bit 0 is its upper
///             left pixel, bit 1 the upper right, bit 2 the lower left, bit 3 the lower right;
///             1 is white
///
/// Source   "Pretraining Recurrent Networks without Recurrence", appendix B.2.2 (MNIST, Sketchy).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopless {

struct ImageFormat {
  int64_t height = 0;  // pixels
  int64_t width = 0;   // pixels
  int64_t patch = 1;   // pixels along a side of the square that a token stands for

  int64_t tokens() const { return height / patch * (width / patch); }
  int64_t vocab_size() const { return patch == 1 ? 256 : 16; }
  bool operator==(const ImageFormat&) const = default;
};

/// Throws Error, beginning with `source`, if a size is not positive or above 65,535, patch is
/// neither 1 nor 2, or the patches do not fill the image.
void check_format(const ImageFormat& format, const std::string& source);

/// The pixels [height * width] of one image, white at 128 and above if they become patches, as
/// tokens [format.tokens()]; and back.
std::vector<uint8_t> tokens_of_pixels(const ImageFormat& format, const uint8_t* pixels);
std::vector<uint8_t> pixels_of_tokens(const ImageFormat& format, const uint8_t* tokens);

/// The format in FOLDER/image.json, {"height": 28, "width": 28, "patch": 1}, if that file exists.
/// Throws Error, naming the file, if it holds anything else.
std::optional<ImageFormat> read_image_format(const std::string& folder);

}  // namespace loopless
