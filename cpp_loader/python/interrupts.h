// Handles signals that Python gets while the engine runs.
#pragma once

#include <nanobind/nanobind.h>

#include "gil.h"

namespace scriptlang::python {

namespace nb = nanobind;

// Lets Python handle signals while a program runs. An exception of a handler (KeyboardInterrupt) is
// stored until the call has ended. Only Python's main thread handles signals, so other threads
// check only once.
class Interrupts {
 public:
  static bool ask(void* self) { return static_cast<Interrupts*>(self)->check(); }
  bool raised() const { return raised_; }
  // Makes the stored exception the current one of Python. Requires the GIL.
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

  // Finds out whether this is the main thread. Returns false if a signal handler raises meanwhile,
  // which can happen as this runs Python code.
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
