// Turns (machine/turns.h) for threads of Python: a thread that waits releases the GIL, and handles
// signals now and then.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>

#include "machine/turns.h"

namespace scriptlang::python {

namespace nb = nanobind;

// What a thread without the GIL does while it waits: it handles signals, so that Ctrl-C raises
// KeyboardInterrupt.
const Waiting& for_signals();

// These require the GIL, and release it while they wait.
void join_domains(const DomainRef& a, const DomainRef& b);
void look(Turn* turn, const DomainRef& domain, bool alone);

// A recursive lock, which releases the GIL while it waits.
class PythonLock {
 public:
  explicit PythonLock(std::recursive_mutex* mutex);
  ~PythonLock();
  PythonLock(const PythonLock&) = delete;
  PythonLock& operator=(const PythonLock&) = delete;

 private:
  std::recursive_mutex* mutex_;
};

// The lock for moving slots of instances to the engine. No thread that holds a turn waits for it.
class Adoption : PythonLock {
 public:
  Adoption();
};

// The lock for the tables of classes and instances. A thread that holds it waits for no other lock.
class Registry : PythonLock {
 public:
  Registry();
};

}  // namespace scriptlang::python
