/// Data sets: two flat runs of tokens, one to train on and one to test on. .npy files and
/// texts are mapped, never copied.
///
///   text:FILE       the bytes of a file; the last tenth of them is the test split
///   npy:TRAIN,TEST  two .npy files of u8, one-dimensional; images if a file image.json beside the
///                   first says so (image_format.h)
///   NAME            the same for data/NAME/{train,test}.npy, such as the scripts in tools/data make
///   idx:TRAIN,TEST  two IDX files (idx.h): images if they have three dimensions
///   images:FOLDER   images in files, as 2 x 2 patches (image_folder.h)
///
/// A token is one byte. Paths are relative to the folder that the program runs in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "train/data/image_format.h"

namespace loopless {

/// The forms of a data set's name, for help and messages.
inline constexpr const char* kDatasetForms =
    "text:FILE, npy:TRAIN,TEST, idx:TRAIN,TEST, images:FOLDER, or NAME for "
    "data/NAME/{train,test}.npy (train/data/README.md)";

/// One split. Copies share the mapping.
struct Tokens {
  std::string name;                  // of the file or folder, for messages
  std::shared_ptr<const void> file;  // keeps `data`
  const uint8_t* data = nullptr;
  int64_t size = 0;  // tokens
};

struct Dataset {
  Tokens train;
  Tokens test;
  std::optional<ImageFormat> image = {};  // if both splits are whole images, one after the other
};

/// Throws Error "dataset: must be text:FILE, ..., got 'x:y'" unless `spec` has one of the forms; looks at
/// no file.
void check_dataset_form(const std::string& spec);

/// Opens both splits and looks at every token once (unless vocab_size is 256 or more).
/// Throws Error, naming the file, if one is missing, cannot be read or is no such array, or holds
/// a token that is not below vocab_size (with its offset in tokens), or splits an image.
Dataset open_dataset(const std::string& spec, int64_t vocab_size);

}  // namespace loopless
