/// Ending a run from outside: SIGINT (Ctrl-C), SIGTERM, and SIGHUP (the terminal has gone).
#pragma once

namespace loopless {

/// While it lives, the first of these signals is only noted, so that a step can be finished and
/// saved; a second one ends the process at once, with exit status 128 + signal. A SIGHUP that was
/// ignored before (nohup) stays so. Nor does SIGPIPE end the process, since whoever reads its output
/// through a pipe may be ended by the same Ctrl-C. One at a time.
class StopSignals {
 public:
  StopSignals();
  /// Gives the signals back their former effect.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came, 0 if none did.
  int received() const;
  /// "SIGINT", "SIGTERM" or "SIGHUP".
  static const char* name_of(int signal);
};

}  // namespace loopless
