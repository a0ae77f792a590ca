#include "train/data/fingerprint.h"

#include <cstdio>
#include <zlib.h>

namespace loopless {
namespace {

std::string fingerprint(const char* split, const Tokens& tokens) {
  const unsigned long crc = crc32_z(0, tokens.data, static_cast<size_t>(tokens.size));
  char text[80];
  std::snprintf(text, sizeof text, "%s %lld tokens %08lx", split,
                static_cast<long long>(tokens.size), crc);
  return text;
}

}  // namespace

std::string fingerprint(const Dataset& dataset) {
  return fingerprint("train", dataset.train) + ", " + fingerprint("test", dataset.test);
}

}  // namespace loopless
