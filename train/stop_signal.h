/// Ending a run from outside: SIGINT (Ctrl-C) and SIGTERM.
#pragma once

namespace loopless {

/// While it lives, the first SIGINT or SIGTERM is only noted, so that a step can be finished and
/// saved; a second one ends the process at once, with exit status 128 + signal. One at a time.
class StopSignals {
 public:
  StopSignals();
  /// Gives both signals back their former effect.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came, 0 if none did.
  int received() const;
  /// "SIGINT" or "SIGTERM".
  static const char* name_of(int signal);
};

}  // namespace loopless
