/// Blocks of memory, and the caching allocator they come from.
///
/// Sizes are rounded up to one of four classes between consecutive powers of two (below 1 KiB, to
/// a multiple of 256 bytes), so that at most a fifth of a large block is unused; a freed block
/// waits in the list of its class for the next request. A training step asks for the same sizes
/// every time, so after the first steps nothing is taken from the system any more:
/// `allocator_stats().system_allocations` stands still.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/types.h"

namespace loopless {

/// Owns one block. Not copied: tensors share it through std::shared_ptr.
class Storage {
 public:
  /// At least `bytes` bytes, uninitialised, aligned to kAlignment.
  /// Throws Error if the device is not available in this build or memory is exhausted.
  Storage(int64_t bytes, Device device);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  static constexpr int64_t kAlignment = 256;  // bytes; also the padding of parameters

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;  // as asked for
  Device device_;
};

struct AllocatorStats {
  int64_t bytes_in_use = 0;        // in blocks held by tensors, class sizes
  int64_t bytes_peak = 0;          // largest bytes_in_use so far
  int64_t bytes_reserved = 0;      // taken from the system: in use or waiting in a list
  int64_t system_allocations = 0;  // requests that had to go to the system, since the start
};
AllocatorStats allocator_stats();
/// Gives every waiting block back to the system.
void allocator_trim();

}  // namespace loopless
