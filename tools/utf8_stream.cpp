#include "tools/utf8_stream.h"

#include <utility>

namespace loopless {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";  // U+FFFD

}  // namespace

std::string Utf8Stream::push(uint8_t byte) {
  if (missing_ == 0) return begin(byte);
  if (byte < lowest_ || byte > highest_) {
    const std::string cut_off = finish();
    return cut_off + begin(byte);
  }
  held_ += static_cast<char>(byte);
  lowest_ = 0x80;
  highest_ = 0xbf;
  return --missing_ == 0 ? std::exchange(held_, "") : "";
}

std::string Utf8Stream::finish() {
  if (missing_ == 0) return "";
  missing_ = 0;
  held_.clear();
  return kReplacement;
}

std::string Utf8Stream::begin(uint8_t byte) {
  if (byte < 0x80) return std::string(1, static_cast<char>(byte));
  if (byte < 0xc2 || byte > 0xf4) return kReplacement;
  missing_ = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
  held_ = static_cast<char>(byte);
  lowest_ = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;  // else a shorter form exists
  highest_ = byte == 0xed   ? 0x9f
             : byte == 0xf4 ? 0x8f
                            : 0xbf;  // else a surrogate, or past U+10FFFF
  return "";
}

}  // namespace loopless
