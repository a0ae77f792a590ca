#include <thread>

#include "tensor/storage.h"
#include "tests/support/op_test.h"

// Without this, AddressSanitizer ends the program where a request cannot be met.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace loopless {
namespace {

int64_t block_size(int64_t bytes) {
  const int64_t before = allocator_stats().bytes_in_use;
  const Storage storage(bytes, kCPU);
  return allocator_stats().bytes_in_use - before;
}

TEST(Storage, classes) {
  for (const auto& [bytes, size] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 256},
                                                {1, 256},
                                                {256, 256},
                                                {257, 512},
                                                {513, 768},
                                                {1024, 1024},
                                                {1025, 1280},
                                                {1281, 1536},
                                                {1537, 1792},
                                                {1793, 2048},
                                                {2048, 2048},
                                                {2049, 2560},
                                                {1'000'000, 1'048'576},
                                                {1'048'577, 1'310'720}}) {
    EXPECT_EQ(block_size(bytes), size) << bytes << " bytes";
  }
  std::mt19937_64 random(1);
  for (int n = 0; n < 1000; ++n) {
    const int64_t bytes = 1025 + static_cast<int64_t>(random() % 10'000'000);
    const int64_t size = block_size(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_LE(size - bytes, size / 5);
    EXPECT_EQ(size % Storage::kAlignment, 0);
  }
  allocator_trim();
}

TEST(Storage, is_aligned) {
  for (const int64_t bytes : {1, 300, 5000, 1'000'001}) {
    const Storage storage(bytes, kCPU);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(storage.data()) % Storage::kAlignment, 0u);
    EXPECT_EQ(storage.bytes(), bytes);
  }
}

TEST(Storage, freed_blocks_are_reused) {
  const auto step = [] {
    const Tensor a = Tensor::zeros({1000}), b = Tensor::zeros({37, 11}), c = Tensor::zeros({1000});
    EXPECT_FALSE(a.shares_storage_with(c));
  };
  step();
  const AllocatorStats before = allocator_stats();
  for (int n = 0; n < 100; ++n) step();
  const AllocatorStats after = allocator_stats();
  EXPECT_EQ(after.system_allocations, before.system_allocations);
  EXPECT_EQ(after.bytes_reserved, before.bytes_reserved);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
}

TEST(Storage, another_size_of_the_class_reuses_a_block) {
  { const Storage storage(5000, kCPU); }
  const int64_t before = allocator_stats().system_allocations;
  { const Storage storage(4200, kCPU); }  // both take 5120 bytes
  EXPECT_EQ(allocator_stats().system_allocations, before);
  { const Storage storage(123'456'789, kCPU); }  // no other test leaves such a block
  EXPECT_EQ(allocator_stats().system_allocations, before + 1);
}

TEST(Storage, counts_what_is_held) {
  allocator_trim();
  const AllocatorStats before = allocator_stats();
  EXPECT_EQ(before.bytes_reserved, before.bytes_in_use);
  {
    const Storage storage(100'000'000, kCPU);
    EXPECT_EQ(allocator_stats().bytes_in_use, before.bytes_in_use + 100'663'296);
    EXPECT_GE(allocator_stats().bytes_peak, before.bytes_in_use + 100'663'296);
    EXPECT_EQ(allocator_stats().bytes_reserved, before.bytes_reserved + 100'663'296);
  }
  EXPECT_EQ(allocator_stats().bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(allocator_stats().bytes_reserved, before.bytes_reserved + 100'663'296);
  allocator_trim();
  EXPECT_EQ(allocator_stats().bytes_reserved, before.bytes_reserved);
}

TEST(Storage, serves_threads) {
  const int64_t before = allocator_stats().bytes_in_use;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int n = 0; n < 500; ++n) {
        const Tensor x = Tensor::full({64 + n % 7}, static_cast<float>(t));
        for (const float value : x.to_vector()) ASSERT_EQ(value, static_cast<float>(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator_stats().bytes_in_use, before);
}

TEST(Storage, errors) {
  const AllocatorStats before = allocator_stats();
  try {
    Tensor::empty({Shape::kMaxNumel});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "memory: the system has no 4611686018427387904 bytes more (" +
                  std::to_string(before.bytes_in_use) +
                  " bytes are in use); a smaller batch needs less");
  }
  EXPECT_EQ(allocator_stats().bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(allocator_stats().system_allocations, before.system_allocations);
}

}  // namespace
}  // namespace loopless
