/// The one exception of the library, and the checks that throw it.
///
/// A message is one plain line: the op or file, the rule, what was got. Only `main` catches.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace loopless {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {
template <class... Parts>
[[noreturn]] void throw_error(const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw Error(message.str());
}
}  // namespace detail

}  // namespace loopless

/// Throws Error with the parts joined, unless `cond` holds. Parts are only formatted on failure.
#define CHECK(cond, ...)                                       \
  do {                                                         \
    if (!(cond)) ::loopless::detail::throw_error(__VA_ARGS__); \
  } while (false)
