#include "train/data/dataset.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/error.h"
#include "tensor/file.h"
#include "tensor/npy.h"
#include "train/data/idx.h"
#include "train/data/image_folder.h"

namespace loopless {
namespace {

Tokens open_npy(const std::string& path) {
  auto file = std::make_shared<const NpyMap>(path);
  CHECK(file->dtype() == kU8 && file->shape().rank() == 1, path,
        ": tokens must be a one-dimensional array of u8, got ", file->dtype(), " ", file->shape());
  return {path, file, file->data<uint8_t>(), file->numel()};
}

/// The test split is the last tenth, rounded down.
Dataset open_text(const std::string& path) {
  auto file = std::make_shared<const MappedFile>(path);
  const auto* bytes = reinterpret_cast<const uint8_t*>(file->data());
  const int64_t train_size = file->size() - file->size() / 10;
  return {{path, file, bytes, train_size},
          {path, file, bytes + train_size, file->size() - train_size},
          std::nullopt};
}

/// "TRAIN,TEST" as two paths.
std::pair<std::string, std::string> two_files(const std::string& paths) {
  const size_t comma = paths.find(',');
  return {paths.substr(0, comma), paths.substr(comma + 1)};
}

Dataset open_npy_pair(const std::string& train, const std::string& test) {
  const std::string folder = std::filesystem::path(train).parent_path().string();
  return {open_npy(train), open_npy(test), read_image_format(folder.empty() ? "." : folder)};
}

/// Data sets made by a script of tools/data of the same name.
bool is_made_by_script(const std::string& name) {
  return name == "kjv" || name == "fashion_mnist" || name == "mnist" || name == "tinystories";
}

Dataset open_named(const std::string& name) {
  const std::string folder = "data/" + name + "/";
  for (const char* split : {"train.npy", "test.npy"}) {
    CHECK(std::filesystem::exists(folder + split), folder, split, ": does not exist; ",
          is_made_by_script(name)
              ? "run tools/data/" + name + ".sh, which makes it"
              : std::string("put the tokens there, or choose another --dataset: ") + kDatasetForms);
  }
  return open_npy_pair(folder + "train.npy", folder + "test.npy");
}

/// Tokens that are in memory.
Tokens keep(const std::string& name, std::vector<uint8_t> tokens) {
  const auto kept = std::make_shared<const std::vector<uint8_t>>(std::move(tokens));
  return {name, kept, kept->data(), static_cast<int64_t>(kept->size())};
}

Dataset open_idx_pair(const std::string& train_path, const std::string& test_path) {
  Idx train = read_idx(train_path), test = read_idx(test_path);
  CHECK(train.shape.tail() == test.shape.tail(), test_path, ": must hold elements like those of ",
        train_path, ", ", train.shape, ", got ", test.shape);
  std::optional<ImageFormat> image;
  if (train.shape.rank() == 3) {
    image = ImageFormat{train.shape[1], train.shape[2], /*patch=*/1};
    check_format(*image, train_path);
  }
  return {keep(train_path, std::move(train.bytes)), keep(test_path, std::move(test.bytes)), image};
}

Dataset open_images(const std::string& folder) {
  ImageFolder images = read_image_folder(folder);
  return {keep(folder, std::move(images.train)), keep(folder, std::move(images.test)),
          images.format};
}

void check_tokens(const Tokens& tokens, const uint8_t* first_of_file, int64_t vocab_size) {
  if (vocab_size > UINT8_MAX) return;
  // In blocks: the largest token of a block is found by vector instructions, the first one too
  // large only in the block that has it.
  constexpr int64_t kBlock = 1 << 16;
  for (int64_t begin = 0; begin < tokens.size; begin += kBlock) {
    const uint8_t* block = tokens.data + begin;
    const int64_t count = std::min(kBlock, tokens.size - begin);
    uint8_t largest = 0;
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, block[i]);
    if (largest < vocab_size) continue;
    const uint8_t* bad =
        std::find_if(block, block + count, [&](uint8_t t) { return t >= vocab_size; });
    CHECK(false, tokens.name, ": token ", static_cast<int>(*bad), " at offset ",
          bad - first_of_file, " must be below the vocabulary's size, ", vocab_size);
  }
}

void check_images(const Tokens& tokens, const ImageFormat& format) {
  CHECK(tokens.size > 0 && tokens.size % format.tokens() == 0, tokens.name, ": ", tokens.size,
        " tokens are no whole images of ", format.width, " x ", format.height, " pixels, ",
        format.tokens(), " tokens each");
}

/// "npy:" and what follows it; of a name, nothing and the name.
std::pair<std::string, std::string> kind_and_rest(const std::string& spec) {
  const size_t colon = spec.find(':') + 1;
  return {spec.substr(0, colon), spec.substr(colon)};
}

Dataset open_splits(const std::string& spec) {
  const auto [kind, rest] = kind_and_rest(spec);
  if (kind == "text:") return open_text(rest);
  if (kind == "images:") return open_images(rest);
  if (kind.empty()) return open_named(rest);
  const auto [train, test] = two_files(rest);
  return kind == "npy:" ? open_npy_pair(train, test) : open_idx_pair(train, test);
}

}  // namespace

void check_dataset_form(const std::string& spec) {
  const auto [kind, rest] = kind_and_rest(spec);
  const auto is_one_of = [&, &kind = kind](auto... kinds) { return ((kind == kinds) || ...); };
  CHECK(is_one_of("", "text:", "images:", "npy:", "idx:") && !spec.empty() &&
            (!kind.empty() || rest.find('/') == std::string::npos),
        "dataset: must be ", kDatasetForms, ", got '", spec, "'");
  CHECK(!rest.empty() || !is_one_of("text:", "images:"), "dataset: ", kind,
        " must be followed by the name of a ", kind == "text:" ? "file" : "folder");
  const auto [train, test] = two_files(rest);
  CHECK(!is_one_of("npy:", "idx:") ||
            (std::count(rest.begin(), rest.end(), ',') == 1 && !train.empty() && !test.empty()),
        "dataset: ", kind, " must be followed by two files, TRAIN,TEST, got '", rest, "'");
}

Dataset open_dataset(const std::string& spec, int64_t vocab_size) {
  check_dataset_form(spec);
  Dataset dataset = open_splits(spec);
  // Both splits of a text are in one file: its offsets count from the first.
  const bool is_one_file = dataset.train.file == dataset.test.file;
  check_tokens(dataset.train, dataset.train.data, vocab_size);
  check_tokens(dataset.test, is_one_file ? dataset.train.data : dataset.test.data, vocab_size);
  if (dataset.image) {
    check_images(dataset.train, *dataset.image);
    check_images(dataset.test, *dataset.image);
  }
  return dataset;
}

}  // namespace loopless
