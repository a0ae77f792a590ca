/// Images written by a trained RNN, beside the held-out ones that they go on from.
///
///   [held-out image]   [given and written | written | ...]
///   [held-out image]   [given and written | written | ...]
///
/// Each row's prompt is the first Tc tokens of its held-out image, and of the next ones where Tc
/// is larger. What was given is blue, all else is grey. Small images are enlarged.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/generation.h"
#include "tools/prompt.h"

namespace loopless {

struct ImageGridConfig {
  int64_t rows = 8;     // held-out images, spread evenly over the split
  int64_t columns = 0;  // images of each row, the begun one included; 0: one more than are begun
  MemorySource memory = MemorySource::kTeacher;
  GenerationConfig generation;  // its length comes from the columns
};

struct ImageGrid {
  int64_t height = 0, width = 0;  // pixels
  std::vector<uint8_t> rgb;       // [height, width, 3]
};

/// Throws Error if the data set has no images, the split has too few for the rows, or the columns
/// leave nothing to write.
ImageGrid write_image_grid(const Models& models, const Dataset& dataset, ImageGridConfig config);

}  // namespace loopless
