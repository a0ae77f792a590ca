/// Bytes that come one at a time, shown as UTF-8: a character is held back until it is complete.
///
/// What can be no part of UTF-8 is shown as U+FFFD, one for each longest run of bytes that began
/// like a character (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts").
#pragma once

#include <cstdint>
#include <string>

namespace loopless {

class Utf8Stream {
 public:
  /// The text that this byte completes; may be empty.
  std::string push(uint8_t byte);
  /// At the end: U+FFFD if a character was left incomplete.
  std::string finish();

 private:
  std::string begin(uint8_t byte);

  std::string held_;  // the first bytes of a character
  int missing_ = 0;   // bytes that it lacks
  // What the next byte may be: the second byte's range is smaller after some first bytes.
  uint8_t lowest_ = 0x80;
  uint8_t highest_ = 0xbf;
};

}  // namespace loopless
