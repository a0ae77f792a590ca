#include <filesystem>
#include <string>
#include <vector>

#include "tensor/npy.h"
#include "tests/support/files.h"
#include "tests/support/op_test.h"
#include "train/data/dataset.h"
#include "train/data/image_file.h"
#include "train/data/image_folder.h"

namespace loopless::testing {
namespace {

using Bytes = std::vector<uint8_t>;

std::string pgm(int64_t width, int64_t height, const Bytes& pixels) {
  return "P5\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n" +
         std::string(pixels.begin(), pixels.end());
}

Reading<Image> reading(const std::string& bytes) { return reading_of(bytes, read_image); }

TEST(ImageFormat, a_patch_is_four_pixels_read_from_the_upper_left) {
  const ImageFormat format{4, 2, 2};
  const Bytes pixels = {128, 0,    //
                        0,   255,  //
                        127, 255,  //
                        200, 0};
  const Bytes tokens = tokens_of_pixels(format, pixels.data());
  EXPECT_EQ(tokens, (Bytes{0b1001, 0b0110}));
  EXPECT_EQ(pixels_of_tokens(format, tokens.data()), (Bytes{255, 0, 0, 255, 0, 255, 255, 0}));
}

TEST(ImageFormat, every_patch_comes_back) {
  const ImageFormat format{8, 8, 2};
  Bytes tokens(16);
  for (uint8_t i = 0; i < 16; ++i) tokens[i] = i;
  EXPECT_EQ(tokens_of_pixels(format, pixels_of_tokens(format, tokens.data()).data()), tokens);
  const ImageFormat grey{4, 4, 1};
  EXPECT_EQ(tokens_of_pixels(grey, pixels_of_tokens(grey, tokens.data()).data()), tokens);
}

TEST(ImageFormat, errors) {
  EXPECT_ERROR(check_format({0, 5, 1}, "f"),
               "f: the sides of an image must have 1 to 65535 pixels, got 5 x 0");
  EXPECT_ERROR(check_format({4, 70000, 1}, "f"),
               "f: the sides of an image must have 1 to 65535 pixels, got 70000 x 4");
  EXPECT_ERROR(check_format({4, 4, 3}, "f"), "f: patch must be 1 or 2, got 3");
  EXPECT_ERROR(check_format({4, 5, 2}, "f"),
               "f: patches of 2 x 2 pixels need images with even sides, got 5 x 4");
}

TEST(ImageFile, reads_pgm) {
  const auto binary = reading(pgm(3, 2, {0, 1, 2, 253, 254, 255}));
  EXPECT_EQ(binary.error, "");
  EXPECT_EQ(binary.value.width, 3);
  EXPECT_EQ(binary.value.height, 2);
  EXPECT_EQ(binary.value.pixels, (Bytes{0, 1, 2, 253, 254, 255}));
  // Comments, and values up to another white than 255.
  const auto plain = reading("P2 # made by hand\n# twice\n 2 1\t# width, height\n4\n1   4\n");
  EXPECT_EQ(plain.error, "");
  EXPECT_EQ(plain.value.pixels, (Bytes{64, 255}));
}

TEST(ImageFile, errors) {
  EXPECT_EQ(reading("").error, "is neither a PNG nor a PGM image");
  EXPECT_EQ(reading("P6 1 1 255 abc").error, "is neither a PNG nor a PGM image");
  EXPECT_EQ(reading("P5").error, "a number was expected at byte 2 of the PGM file");
  EXPECT_EQ(reading("P5 2 -2 255 ").error, "a number was expected at byte 5 of the PGM file");
  EXPECT_EQ(reading("P5 2 99999999999999999999 255 ").error,
            "the number at byte 5 of the PGM file must be at most 67108864");
  EXPECT_EQ(reading("P5 67108864 67108864 255 ").error,
            "an image must have 1 to 67108864 pixels, got 67108864 x 67108864");
  EXPECT_EQ(reading("P5 0 1 255 ").error, "an image must have 1 to 67108864 pixels, got 0 x 1");
  EXPECT_EQ(reading("P5 1 1 65535 ab").error,
            "the number at byte 7 of the PGM file must be at most 255");
  EXPECT_EQ(reading("P5 1 1 0 a").error, "the largest value of a PGM file must be 1 to 255, got 0");
  EXPECT_EQ(reading("P5 2 2 255 abc").error,
            "holds 3 bytes after its header, which do not make 2 x 2 pixels");
  EXPECT_EQ(reading("P5 2 1 7 \x01\x09").error, "pixel 1 must be at most 7, got 9");
  EXPECT_EQ(reading("P2 4 4 255 1 2 3").error,
            "holds 5 bytes after its header, which do not make 4 x 4 pixels");
  EXPECT_ERROR(read_image("/nowhere/x"), "/nowhere/x: cannot open: No such file or directory");
}

TEST(ImageFile, encodes_png_that_it_reads) {
  Bytes rgb;
  for (int value : {0, 100, 255, 17, 128, 3}) rgb.insert(rgb.end(), 3, static_cast<uint8_t>(value));
  const Bytes encoded = encode_png(2, 3, rgb);
  const std::string bytes(encoded.begin(), encoded.end());
  const Image image = reading(bytes).value;
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.pixels, (Bytes{0, 100, 255, 17, 128, 3}));
  for (size_t size : {size_t{9}, size_t{30}, bytes.size() / 2, bytes.size() - 14}) {
    const std::string error = reading(bytes.substr(0, size)).error;
    EXPECT_EQ(error.substr(0, 28), "is no PNG that can be read: ") << size << " " << error;
  }
}

TEST(ImageFolder, holds_out_every_tenth_image_by_path) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "b");
  for (int i = 0; i < 21; ++i) {
    const std::string name = (i % 2 ? "b/" : "a") + std::to_string(100 + i) + ".pgm";
    const uint8_t white = 255;
    Bytes pixels(4, 0);
    for (int bit = 0; bit < 4; ++bit) pixels[bit] = i % 16 >> bit & 1 ? white : 0;
    write_bytes(folder / name, pgm(2, 2, pixels));
  }
  write_bytes(folder / "notes.txt", "not an image");
  const Dataset dataset = open_dataset("images:" + folder.path(), 16);
  EXPECT_EQ(dataset.image, (ImageFormat{2, 2, 2}));
  // a100, a102, ... a120, then b/101, b/103, ...: the 10th is a118, the 20th b/117.
  EXPECT_EQ(Bytes(dataset.test.data, dataset.test.data + dataset.test.size),
            (Bytes{18 % 16, 17 % 16}));
  EXPECT_EQ(dataset.train.size, 19);
  EXPECT_EQ(dataset.train.data[1], 2);
}

TEST(ImageFolder, errors) {
  const TemporaryFolder folder;
  const auto open = [&] { return open_dataset("images:" + folder.path(), 256); };
  EXPECT_ERROR(open(),
               folder.path() + ": a data set needs two images (.png or .pgm) or more, got 0");
  write_bytes(folder / "a.pgm", pgm(2, 2, {1, 2, 3, 4}));
  write_bytes(folder / "b.pgm", pgm(4, 2, {1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_ERROR(open(), (folder / "b.pgm") + ": is 4 x 2 pixels, but the first image, " +
                           (folder / "a.pgm") + ", is 2 x 2; all must have one size");
  write_bytes(folder / "b.pgm", "nothing");
  EXPECT_ERROR(open(), (folder / "b.pgm") + ": is neither a PNG nor a PGM image");
  write_bytes(folder / "a.pgm", pgm(1, 2, {1, 2}));
  EXPECT_ERROR(open(), (folder / "a.pgm") +
                           ": patches of 2 x 2 pixels need images with even sides, got 1 x 2");
  EXPECT_ERROR(open_dataset("images:", 16),
               "dataset: images: must be followed by the name of a folder");
  EXPECT_ERROR(open_dataset("images:/nowhere", 16),
               "/nowhere: cannot be read: No such file or directory");
}

TEST(ImageJson, makes_images_of_flat_tokens) {
  const TemporaryFolder folder;
  const std::string path = folder / "image.json";
  const auto open = [&] {
    return open_dataset("npy:" + (folder / "a.npy") + "," + (folder / "b.npy"), 256);
  };
  write_npy(folder / "a.npy", Tensor::zeros({12}, kU8));
  write_npy(folder / "b.npy", Tensor::zeros({6}, kU8));
  EXPECT_FALSE(open().image);
  write_bytes(path, R"({"height": 2, "width": 3, "patch": 1})");
  EXPECT_EQ(open().image, (ImageFormat{2, 3, 1}));
  write_bytes(path, R"({"height": 2, "width": 2, "patch": 1})");
  EXPECT_ERROR(
      open(), (folder / "b.npy") + ": 6 tokens are no whole images of 2 x 2 pixels, 4 tokens each");
  const std::string expected = path + R"(: must be like {"height": 28, "width": 28, "patch": 1})";
  for (const char* bad :
       {"", "[]", "{", R"({"height": 2, "width": 3})", R"({"height": 2, "width": 3, "patch": "1"})",
        R"({"height": 2, "width": 3, "patch": 1, "x": 1})"}) {
    write_bytes(path, bad);
    EXPECT_ERROR(open(), expected);
  }
  write_bytes(path, R"({"height": 2, "width": -3, "patch": 1})");
  EXPECT_ERROR(open(), path + ": the sides of an image must have 1 to 65535 pixels, got -3 x 2");
}

}  // namespace
}  // namespace loopless::testing
