/// IDX files, the format of MNIST: an array of bytes behind a header of big-endian numbers,
///
///   0, 0, type (8: u8), rank, then one 32-bit size per dimension, then the elements
///
/// plain or compressed by gzip (then named .gz or not: the first bytes tell).
///
/// A file is refused, with one line that names it, unless its size is exactly the header's. What
/// is compressed is unpacked piece by piece, so that a header that lies about the size costs no
/// memory.
///
/// Source   Y. LeCun, The MNIST database, "File formats".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace loopless {

struct Idx {
  Shape shape;                 // one to four dimensions, each at least 1
  std::vector<uint8_t> bytes;  // in C order
};

/// Throws Error "PATH: cannot open: REASON" or "PATH: what is wrong with it".
Idx read_idx(const std::string& path);

}  // namespace loopless
