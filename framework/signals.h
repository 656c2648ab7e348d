// SIGINT, SIGTERM and SIGHUP as a question: a training asks between two steps whether it is to end, and ends in
// good order. Whatever may take seconds asks too (stop_if_signalled).
//
//   const SignalGuard guard;
//   for (…) { step(); if (signal_received()) break; }
#pragma once

#include "framework/check.h"

namespace unroll {

// While one lives, SIGINT, SIGTERM and SIGHUP end nothing but are remembered; a SIGINT after another signal ends
// the process at once, with 130. (One within a tenth of a second is the same again: `timeout -s INT` sends two.)
// A SIGHUP that is ignored, as `nohup` has it, stays ignored. SIGPIPE is ignored too: nobody reads on, which is
// no reason to lose a training, and writing says so. There can be one guard at a time.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();  // what the signals did before
  SignalGuard& operator=(SignalGuard&&) = delete;
};

// The first signal that came while a SignalGuard lived; 0: none.
int signal_received();

// A signal asked for the end. Programs exit with 128 + signal: 129 for SIGHUP, 130 for SIGINT, 143
// for SIGTERM.
struct Interrupted : Error {
  explicit Interrupted(int number, const std::string& before = {});  // "rank 2: ", before the message
  int signal;
};

// Throws Interrupted if a signal came: for the middle of long work that can be done again, such as a
// validation, a baseline, a sample of text.
void stop_if_signalled();

}  // namespace unroll
