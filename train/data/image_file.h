/// Grey images in files: PNG (through libpng) and PGM (Netpbm's, binary or plain).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace loopless {

struct Image {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> pixels;  // [height, width], 0 black to 255 white
};

/// Reads a .png or .pgm file; the first bytes tell which. Colours become luminance, transparent
/// pixels white, 16 bits 8.
/// Throws Error, naming the file, if it is neither, is damaged, or has more than 2^26 pixels.
Image read_image(const std::string& path);

/// The bytes of a PNG file of colours, pixels [height, width, 3] (red, green, blue).
std::vector<uint8_t> encode_png(int64_t height, int64_t width, const std::vector<uint8_t>& rgb);

}  // namespace loopless
