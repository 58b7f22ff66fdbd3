// Waits for turns in threads of Python: releases the GIL and handles signals meanwhile.
#include "turns.h"

#include "gil.h"

namespace scriptlang::python {

const Waiting& for_signals() {
  static const Waiting waiting = {[](void*) {
                                    with_python([] {
                                      if (PyErr_CheckSignals() != 0) throw nb::python_error();
                                    });
                                  },
                                  nullptr};
  return waiting;
}

void join_domains(const DomainRef& a, const DomainRef& b) {
  if (a.get() == b.get() || Domain::try_join(a.get(), b.get())) return;
  DomainRef held_a = a, held_b = b;
  WithoutPython released;
  join(held_a.get(), held_b.get(), for_signals());
}

void look(Turn* turn, const DomainRef& domain, bool alone) {
  if (turn->try_look(domain.get(), alone)) return;
  DomainRef held = domain;
  WithoutPython released;
  turn->look(held.get(), alone, for_signals());
}

PythonLock::PythonLock(std::recursive_mutex* mutex) : mutex_(mutex) {
  if (mutex_->try_lock()) return;
  WithoutPython released;
  mutex_->lock();
}
PythonLock::~PythonLock() { mutex_->unlock(); }

// Never destroyed, since threads may outlive static objects.
static std::recursive_mutex* adopting = new std::recursive_mutex;
static std::recursive_mutex* registering = new std::recursive_mutex;
Adoption::Adoption() : PythonLock(adopting) {}
Registry::Registry() : PythonLock(registering) {}

}  // namespace scriptlang::python
