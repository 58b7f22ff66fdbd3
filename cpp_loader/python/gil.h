// Acquiring and releasing the GIL. A daemon thread that waits for it while the process ends stays
// where it is: see forced_unwind.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace scriptlang::python {

namespace nb = nanobind;

// Runs a function with the GIL, in a thread that may hold it already.
template <class F>
auto with_python(F&& body) {
  struct Gil {
    PyGILState_STATE state = PyGILState_Ensure();
    ~Gil() { PyGILState_Release(state); }
  } gil;
  return body();
}

// Releases the GIL while it exists.
class WithoutPython {
 public:
  WithoutPython() : state_(PyEval_SaveThread()) {}
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;
  ~WithoutPython() { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* state_;
};

}  // namespace scriptlang::python
