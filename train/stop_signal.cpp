#include "train/stop_signal.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace loopless {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

std::atomic<int> noted{0};
static_assert(std::atomic<int>::is_always_lock_free, "handlers may use nothing that locks");

struct sigaction former[std::size(kSignals)];

void note(int signal) {
  int none = 0;
  if (!noted.compare_exchange_strong(none, signal)) ::_exit(128 + signal);
}

}  // namespace

StopSignals::StopSignals() {
  noted = 0;
  struct sigaction action = {};
  // Calls that the signal interrupts go on: a half-written line would be worse than a late stop.
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], nullptr, &former[i]);
    const bool is_ignored = former[i].sa_handler == SIG_IGN;
    if (kSignals[i] == SIGHUP && is_ignored) continue;
    action.sa_handler = kSignals[i] == SIGPIPE ? SIG_IGN : note;
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &former[i], nullptr);
}

int StopSignals::received() const { return noted; }

const char* StopSignals::name_of(int signal) {
  return signal == SIGINT ? "SIGINT" : (signal == SIGTERM ? "SIGTERM" : "SIGHUP");
}

}  // namespace loopless
