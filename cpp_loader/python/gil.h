// Acquiring and releasing the GIL.
//
// Any thread may be a daemon thread. When the process ends, Python ends such a thread as soon as it
// waits for the GIL, by unwinding its stack. If that reached a destructor or a noexcept function,
// the process would end with an error. So nanobind's own guards are not used.
#pragma once

#include <nanobind/nanobind.h>

#include <cxxabi.h>
#include <unistd.h>

namespace scriptlang::python {

namespace nb = nanobind;

// Where a thread stays that Python ends: nobody needs it any more, and what it holds cannot be
// released without the GIL.
[[noreturn]] inline void stay_forever() {
  for (;;) pause();
}

// Calls a function that may acquire the GIL. The exception that ends the thread is not a C++
// object, so the reference to it is null, which the sanitizer would report.
template <class F>
__attribute__((no_sanitize("undefined"))) auto staying(F&& call) {
#if defined(__GLIBCXX__)
  try {
    return call();
  } catch (abi::__forced_unwind&) { stay_forever(); }
#else
  return call();
#endif
}

// Runs a function with the GIL, in a thread that may hold it already.
template <class F>
auto with_python(F&& body) {
  struct Gil {
    PyGILState_STATE state = staying(PyGILState_Ensure);
    ~Gil() { PyGILState_Release(state); }
  } gil;
  return staying(body);
}

// Releases the GIL while it exists.
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
