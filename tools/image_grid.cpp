#include "tools/image_grid.h"

#include <algorithm>

namespace loopless {
namespace {

constexpr int64_t kMinHeight = 84;  // of an image in the grid; smaller ones are enlarged, pixels
constexpr int64_t kGap = 4;         // between images, pixels
constexpr uint8_t kPaper = 255;

struct Colour {
  uint8_t red, green, blue;
};

Colour grey(uint8_t value) { return {value, value, value}; }
/// Black becomes a dark blue, white a light one.
Colour blue(uint8_t value) {
  const auto mix = [&](int dark, int light) {
    return static_cast<uint8_t>(dark + (light - dark) * value / 255);
  };
  return {mix(0, 190), mix(24, 220), mix(96, 255)};
}

/// A sheet of paper with room for rows and columns of images of one format.
class Sheet {
 public:
  Sheet(const ImageFormat& format, int64_t rows, int64_t columns)
      : format_(format), scale_((kMinHeight + format.height - 1) / format.height) {
    grid_.height = kGap + rows * step(format.height);
    grid_.width = kGap + columns * step(format.width) + kGap;  // twice the gap after the first
    grid_.rgb.assign(grid_.height * grid_.width * 3, kPaper);
  }

  /// Draws an image of which the first `given` tokens are blue.
  void draw(int64_t row, int64_t column, const uint8_t* tokens, int64_t given) {
    const std::vector<uint8_t> pixels = pixels_of_tokens(format_, tokens);
    const int64_t top = kGap + row * step(format_.height);
    const int64_t left = kGap + column * step(format_.width) + (column > 0 ? kGap : 0);
    for (int64_t y = 0; y < format_.height * scale_; ++y) {
      for (int64_t x = 0; x < format_.width * scale_; ++x) {
        const int64_t from_y = y / scale_, from_x = x / scale_;
        const int64_t token =
            from_y / format_.patch * (format_.width / format_.patch) + from_x / format_.patch;
        const uint8_t value = pixels[from_y * format_.width + from_x];
        set(top + y, left + x, token < given ? blue(value) : grey(value));
      }
    }
  }

  ImageGrid take() { return std::move(grid_); }

 private:
  int64_t step(int64_t side) const { return side * scale_ + kGap; }
  void set(int64_t y, int64_t x, Colour colour) {
    uint8_t* pixel = &grid_.rgb[(y * grid_.width + x) * 3];
    pixel[0] = colour.red;
    pixel[1] = colour.green;
    pixel[2] = colour.blue;
  }

  ImageFormat format_;
  int64_t scale_;
  ImageGrid grid_;
};

/// The tokens at which `rows` images begin, spread evenly over those that `count` tokens follow.
std::vector<int64_t> first_tokens(const Tokens& tokens, int64_t per_image, int64_t rows,
                                  int64_t count) {
  const int64_t images = count > tokens.size ? 0 : (tokens.size - count) / per_image + 1;
  CHECK(rows <= images, tokens.name, ": has ", images, " images that can be begun with ", count,
        " tokens, fewer than the ", rows, " rows");
  std::vector<int64_t> result;
  for (int64_t row = 0; row < rows; ++row) result.push_back(row * images / rows * per_image);
  return result;
}

}  // namespace

ImageGrid write_image_grid(const Models& models, const Dataset& dataset, ImageGridConfig config) {
  CHECK(dataset.image, dataset.test.name, ": is not known to hold images; see ",
        "train/data/README.md");
  const ImageFormat& format = *dataset.image;
  const int64_t per_image = format.tokens(), given = context_length(models.config);
  if (config.columns == 0) config.columns = (given + per_image - 1) / per_image + 1;
  config.generation.length = config.columns * per_image - given;
  config.generation.below = format.vocab_size();
  CHECK(config.generation.length > 0, "columns: ", config.columns, " images of ", per_image,
        " tokens leave nothing to write after the ", given, " that are given");

  const std::vector<int64_t> first =
      first_tokens(dataset.test, per_image, config.rows, std::max(given, per_image));
  std::vector<int32_t> prompts;
  std::vector<std::vector<uint8_t>> written(config.rows);
  for (int64_t row = 0; row < config.rows; ++row) {
    const uint8_t* begin = dataset.test.data + first[row];
    prompts.insert(prompts.end(), begin, begin + given);
    written[row].assign(begin, begin + given);
  }
  const Tensor memory =
      read_prompts(models, Tensor::from({config.rows, given}, prompts), config.memory);
  generate(*models.rnn, memory, config.generation,
           [&](int64_t row, uint8_t token) { written[row].push_back(token); });

  Sheet sheet(format, config.rows, 1 + config.columns);
  for (int64_t row = 0; row < config.rows; ++row) {
    sheet.draw(row, 0, dataset.test.data + first[row], 0);
    for (int64_t column = 0; column < config.columns; ++column) {
      const int64_t at = column * per_image;
      sheet.draw(row, 1 + column, &written[row][at], given - at);
    }
  }
  return sheet.take();
}

}  // namespace loopless
