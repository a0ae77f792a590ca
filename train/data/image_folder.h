/// A folder of images as tokens: each 2 x 2 patch, black or white, is one of 16.
///
/// All .png and .pgm files of the folder and of those in it, in the order of their paths; other
/// files are passed over. Every tenth image (the 10th, 20th, ...) is the test split; of fewer than
/// ten, the last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/data/image_format.h"

namespace loopless {

struct ImageFolder {
  ImageFormat format;
  std::vector<uint8_t> train, test;  // tokens
};

/// Throws Error, naming the file, if the folder cannot be read or has fewer than two images, one
/// of them cannot be read, has an odd side, or is not of the first one's size.
ImageFolder read_image_folder(const std::string& folder);

}  // namespace loopless
