#include "train/data/dataset.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tensor/error.h"
#include "tensor/file.h"
#include "tensor/npy.h"

namespace loopless {
namespace {

constexpr const char* kSpecs =
    "kjv, text:FILE, npy:TRAIN,TEST, or NAME for data/NAME/{train,test}.npy";

Tokens open_npy(const std::string& path) {
  auto file = std::make_shared<const NpyMap>(path);
  CHECK(file->dtype() == kU8 && file->shape().rank() == 1, path,
        ": tokens must be a one-dimensional array of u8, got ", file->dtype(), " ", file->shape());
  return {path, file, file->data<uint8_t>(), file->numel()};
}

/// The test split is the last tenth, rounded down.
Dataset open_text(const std::string& path) {
  CHECK(!path.empty(), "dataset: text: must be followed by the name of a file");
  auto file = std::make_shared<const MappedFile>(path);
  const auto* bytes = reinterpret_cast<const uint8_t*>(file->data());
  const int64_t train_size = file->size() - file->size() / 10;
  return {{path, file, bytes, train_size},
          {path, file, bytes + train_size, file->size() - train_size}};
}

Dataset open_npy_pair(const std::string& paths) {
  const size_t comma = paths.find(',');
  CHECK(comma != std::string::npos && paths.find(',', comma + 1) == std::string::npos &&
            comma > 0 && comma + 1 < paths.size(),
        "dataset: npy: must be followed by two files, TRAIN,TEST, got '", paths, "'");
  return {open_npy(paths.substr(0, comma)), open_npy(paths.substr(comma + 1))};
}

Dataset open_named(const std::string& name) {
  CHECK(!name.empty() && name.find_first_of(":/") == std::string::npos, "dataset: must be ", kSpecs,
        ", got '", name, "'");
  const std::string folder = "data/" + name + "/";
  for (const char* split : {"train.npy", "test.npy"}) {
    CHECK(std::filesystem::exists(folder + split), folder, split, ": does not exist; ",
          name == "kjv"
              ? "run tools/data/kjv.sh, which makes it"
              : std::string("put the tokens there, or choose another --dataset: ") + kSpecs);
  }
  return {open_npy(folder + "train.npy"), open_npy(folder + "test.npy")};
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

Dataset open_splits(const std::string& spec) {
  if (spec.rfind("text:", 0) == 0) return open_text(spec.substr(5));
  if (spec.rfind("npy:", 0) == 0) return open_npy_pair(spec.substr(4));
  return open_named(spec);
}

}  // namespace

Dataset open_dataset(const std::string& spec, int64_t vocab_size) {
  Dataset dataset = open_splits(spec);
  // Both splits of a text are in one file: its offsets count from the first.
  const bool is_one_file = dataset.train.file == dataset.test.file;
  check_tokens(dataset.train, dataset.train.data, vocab_size);
  check_tokens(dataset.test, is_one_file ? dataset.train.data : dataset.test.data, vocab_size);
  return dataset;
}

}  // namespace loopless
