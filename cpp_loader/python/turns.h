// Turns (machine/turns.h) as threads of Python take them: who waits gives the GIL away, and looks
// for signals now and then.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>

#include "machine/turns.h"

namespace scriptlang::python {

namespace nb = nanobind;

// What a thread that has given the GIL away does while it waits: Ctrl-C raises KeyboardInterrupt.
const Waiting& for_signals();

// The GIL is held in all of these, and not while they wait.
void join_domains(const DomainRef& a, const DomainRef& b);
void look(Turn* turn, const DomainRef& domain, bool alone);

// Locks that the thread which has one may take again.
class PythonLock {
 public:
  explicit PythonLock(std::recursive_mutex* mutex);
  ~PythonLock();
  PythonLock(const PythonLock&) = delete;
  PythonLock& operator=(const PythonLock&) = delete;

 private:
  std::recursive_mutex* mutex_;
};

// Instances get their slots in the engine by one thread at a time. Nobody with a turn waits for it.
class Adoption : PythonLock {
 public:
  Adoption();
};

// Classes and instances are looked up and remembered by one thread at a time, which waits for
// nothing else.
class Registry : PythonLock {
 public:
  Registry();
};

}  // namespace scriptlang::python
