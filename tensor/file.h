/// Files: mapped for reading, and written so that they appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace loopless {

/// A whole file in memory, read-only; a page is read from disk when it is first touched. Moved,
/// not copied. The file must not be shortened while it is mapped (replacing it by a rename is
/// fine).
class MappedFile {
 public:
  /// Throws Error "PATH: cannot open: REASON".
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  const std::string& path() const { return path_; }
  const std::byte* data() const { return data_; }
  int64_t size() const { return size_; }  // bytes

 private:
  std::string path_;
  std::byte* data_ = nullptr;  // null for an empty file
  int64_t size_ = 0;
};

/// A file being written under a temporary name in the folder of `path`. Until `commit` renames it,
/// what was at `path` before stays untouched; a crash leaves the old file or the new one, whole.
/// One process writes one path once at a time.
class AtomicFile {
 public:
  /// Throws Error "PATH: cannot write: REASON", as do `write` and `commit`.
  explicit AtomicFile(std::string path);
  /// Removes the temporary file unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, int64_t bytes);
  void write(std::string_view text) { write(text.data(), static_cast<int64_t>(text.size())); }
  /// Syncs the file, renames it to `path`, and syncs the folder.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;  // -1 once committed
};

/// Text from a file, fit for a one-line message: cut at 60 bytes, with '?' for whatever is no
/// printable ASCII.
std::string printable(std::string_view text);

/// A message about anything that was given, fit for one line: cut at 300 bytes, with '?' for control
/// characters.
std::string one_line(std::string message);

}  // namespace loopless
