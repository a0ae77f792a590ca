/// One process at a time in a run's folder.
#pragma once

#include <string>

namespace loopless {

/// Holds FOLDER/lock, which names the process. The system lets go of it when the process ends,
/// however it ends, so a lock that was left behind stops nobody.
class RunLock {
 public:
  /// Throws Error "FOLDER: is in use by process 1234 on HOST; ..." or, if the folder cannot be
  /// written to, why not.
  explicit RunLock(const std::string& folder);
  /// Whether the folder still has this lock: it may have been removed or moved meanwhile.
  bool is_held() const;
  /// Removes the file.
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace loopless
