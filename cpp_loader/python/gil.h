// Taking and giving up the GIL.
//
// Any thread may be a daemon: where the process ends, Python ends such a thread when it wants the
// GIL, by unwinding its stack. That must reach no destructor and no function that promises not to
// throw, which would end the process with an error. So nothing here uses nanobind's own guards.
#pragma once

#include <nanobind/nanobind.h>

#include <cxxabi.h>
#include <unistd.h>

namespace scriptlang::python {

namespace nb = nanobind;

// What may want the GIL is called by this. A thread that Python ends stays here, as it is: nobody
// needs it any more, and what its run holds cannot be given back without the GIL. (What ends it is
// no object of C++: the reference to it is null.)
template <class F>
__attribute__((no_sanitize("undefined"))) auto staying(F&& call) {
#if defined(__GLIBCXX__)
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
#else
  return call();
#endif
}

// Runs something with the GIL, in a thread that may have it or not.
template <class F>
auto with_python(F&& body) {
  struct Gil {
    PyGILState_STATE state = staying(PyGILState_Ensure);
    ~Gil() { PyGILState_Release(state); }
  } gil;
  return staying(body);
}

// Gives up the GIL for as long as it lives.
class WithoutPython {
 public:
  WithoutPython() : state_(PyEval_SaveThread()) {}
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;
  ~WithoutPython() {
    staying([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

}  // namespace scriptlang::python
