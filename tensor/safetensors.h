/// Safetensors files: named tensors of F32, BF16, I32 or U8, and a map of strings about them.
///
/// A file is eight bytes of header length, a JSON header that gives each tensor's type, shape and
/// place, and the elements. It is refused, with one line that names it, unless the header is well
/// formed and every byte behind it belongs to exactly one tensor.
///
/// Source   https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tensor/file.h"
#include "tensor/tensor.h"

namespace loopless {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using Metadata = std::map<std::string, std::string>;

/// The tensors of a file where they are: mapped, read-only, never copied. Moved, not copied.
class SafetensorsMap {
 public:
  /// Throws Error "PATH: cannot open: REASON" or "PATH: what is wrong with it".
  explicit SafetensorsMap(std::string path);

  struct Entry {
    std::string name;
    DType dtype;
    Shape shape;
    const std::byte* raw;  // the first element; not aligned unless the writer took care
  };
  /// In the order of their places in the file.
  const std::vector<Entry>& entries() const { return entries_; }
  const Metadata& metadata() const { return metadata_; }
  const std::string& path() const { return file_.path(); }
  int64_t bytes() const { return file_.size(); }  // of the whole file

 private:
  MappedFile file_;
  std::vector<Entry> entries_;
  Metadata metadata_;
};

struct SafetensorsFile {
  std::map<std::string, Tensor> tensors;
  Metadata metadata;
};

/// All tensors, copied. Throws Error as SafetensorsMap does.
SafetensorsFile read_safetensors(const std::string& path);

/// Writes the tensors in the order given, atomically (tensor/file.h); the header is padded with
/// spaces to a multiple of 8 bytes. In names and metadata, bytes that are no UTF-8 become U+FFFD.
/// Throws Error if a name is used twice, or is "__metadata__", or its tensor is undefined.
void write_safetensors(const std::string& path, const NamedTensors& tensors,
                       const Metadata& metadata = {});

}  // namespace loopless
