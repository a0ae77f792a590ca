#include "tensor/storage.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "tensor/error.h"

namespace loopless {
namespace {

/// Rounds up to a multiple of a quarter of the next lower power of two (1024, 1280, 1536, 1792,
/// 2048, ...), at least kAlignment.
int64_t class_size(int64_t bytes) {
  if (bytes <= Storage::kAlignment) return Storage::kAlignment;
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes)));
  const int64_t step = std::max(Storage::kAlignment, power / 4);
  return (bytes + step - 1) / step * step;
}

class Allocator {
 public:
  std::byte* take(int64_t bytes) {
    const int64_t size = class_size(bytes);
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& waiting = waiting_[size];
    std::byte* block = nullptr;
    if (!waiting.empty()) {
      block = waiting.back();
      waiting.pop_back();
    } else {
      block = static_cast<std::byte*>(std::aligned_alloc(Storage::kAlignment, size));
      if (!block) {  // blocks of other sizes may be what is missing
        free_waiting();
        block = static_cast<std::byte*>(std::aligned_alloc(Storage::kAlignment, size));
      }
      CHECK(block != nullptr, "memory: the system has no ", size, " bytes more (",
            stats_.bytes_in_use, " bytes are in use); a smaller batch needs less");
      stats_.bytes_reserved += size;
      ++stats_.system_allocations;
    }
    stats_.bytes_in_use += size;
    stats_.bytes_peak = std::max(stats_.bytes_peak, stats_.bytes_in_use);
    return block;
  }

  void give_back(std::byte* block, int64_t bytes) {
    const int64_t size = class_size(bytes);
    const std::lock_guard lock(mutex_);
    waiting_[size].push_back(block);
    stats_.bytes_in_use -= size;
  }

  void trim() {
    const std::lock_guard lock(mutex_);
    free_waiting();
  }

  AllocatorStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  void free_waiting() {
    for (auto& [size, blocks] : waiting_) {
      for (std::byte* block : blocks) std::free(block);
      stats_.bytes_reserved -= size * static_cast<int64_t>(blocks.size());
      blocks.clear();
    }
  }

  std::mutex mutex_;
  std::map<int64_t, std::vector<std::byte*>> waiting_;
  AllocatorStats stats_;
};

/// Never destroyed: tensors in static objects may outlive any order of destruction.
Allocator& cpu_allocator() {
  static auto* allocator = new Allocator;
  return *allocator;
}

}  // namespace

Storage::Storage(int64_t bytes, Device device) : bytes_(bytes), device_(device) {
  CHECK(device == kCPU, "memory: device ", device, " is not available: this build has no CUDA");
  data_ = cpu_allocator().take(bytes);
}

Storage::~Storage() { cpu_allocator().give_back(data_, bytes_); }

AllocatorStats allocator_stats() { return cpu_allocator().stats(); }
void allocator_trim() { cpu_allocator().trim(); }

}  // namespace loopless
