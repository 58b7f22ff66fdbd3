// Signals that come to Python while the engine runs.
#pragma once

#include <nanobind/nanobind.h>

#include "gil.h"

namespace scriptlang::python {

namespace nb = nanobind;

// Asks Python for signals while a program runs. What their handlers raise (KeyboardInterrupt) is
// kept until the call has ended. Only Python's main thread handles signals: another one asks once.
class Interrupts {
 public:
  static bool ask(void* self) { return static_cast<Interrupts*>(self)->check(); }
  bool raised() const { return raised_; }
  // With the GIL: what was raised is Python's current error again.
  void restore() { PyErr_Restore(type_, value_, trace_); }

 private:
  bool check() {
    if (is_elsewhere_) return false;
    return with_python([this] {
      if (PyErr_CheckSignals() == 0 && (is_main_ || find_thread())) return false;
      PyErr_Fetch(&type_, &value_, &trace_);
      return raised_ = true;
    });
  }

  // This runs Python, where a signal's handler may raise, too: then it is false.
  bool find_thread() {
    try {
      nb::object main = nb::module_::import_("threading").attr("main_thread")();
      is_main_ = nb::cast<unsigned long>(main.attr("ident")) == PyThread_get_thread_ident();
      is_elsewhere_ = !is_main_;
    } catch (nb::python_error& error) {
      error.restore();
      return false;
    }
    return true;
  }

  bool is_main_ = false, is_elsewhere_ = false, raised_ = false;
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

}  // namespace scriptlang::python
