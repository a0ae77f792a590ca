#include "tests/fuzz/memory.h"

#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <new>

#include "tensor/storage.h"

namespace {

std::atomic<int64_t> held{0}, peak{0};

void* take(std::size_t bytes) {
  void* block = std::malloc(bytes ? bytes : 1);
  if (!block) throw std::bad_alloc();
  const auto size = static_cast<int64_t>(malloc_usable_size(block));
  const int64_t now = held.fetch_add(size) + size;
  for (int64_t seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) {
  }
  return block;
}

void give_back(void* block) {
  if (block) held.fetch_sub(static_cast<int64_t>(malloc_usable_size(block)));
  std::free(block);
}

int64_t held_at_reset = 0, tensors_at_reset = 0;

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
void operator delete(void* block) noexcept { give_back(block); }
void operator delete[](void* block) noexcept { give_back(block); }
void operator delete(void* block, std::size_t) noexcept { give_back(block); }
void operator delete[](void* block, std::size_t) noexcept { give_back(block); }

namespace loopless::testing {

void reset_peak_memory() {
  allocator_trim();
  peak = held_at_reset = held;
  tensors_at_reset = allocator_stats().bytes_reserved;
}

int64_t peak_memory() {
  // Waiting blocks were given back at the reset, so what is reserved since then was needed.
  return peak - held_at_reset + allocator_stats().bytes_reserved - tensors_at_reset;
}

}  // namespace loopless::testing
