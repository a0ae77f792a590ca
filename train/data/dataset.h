/// Data sets: two flat runs of tokens, one to train on and one to test on. Mapped, never copied.
///
///   kjv             the King James text, made by tools/data/kjv.sh in data/kjv
///   text:FILE       the bytes of a file; the last tenth of them is the test split
///   npy:TRAIN,TEST  two .npy files of u8, one-dimensional
///   NAME            data/NAME/train.npy and data/NAME/test.npy
///
/// A token is one byte. Paths are relative to the folder that the program runs in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace loopless {

/// One split. Copies share the mapping.
struct Tokens {
  std::string name;                  // of the file, for messages
  std::shared_ptr<const void> file;  // keeps `data` mapped
  const uint8_t* data = nullptr;
  int64_t size = 0;  // tokens
};

struct Dataset {
  Tokens train;
  Tokens test;
};

/// Opens both splits and looks at every token once (unless vocab_size is 256 or more).
/// Throws Error, naming the file, if one is missing, cannot be read or is no such array, or holds
/// a token that is not below vocab_size (with its offset in tokens).
Dataset open_dataset(const std::string& spec, int64_t vocab_size);

}  // namespace loopless
