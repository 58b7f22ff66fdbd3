// Threads that Python ends stay where they are.
//
// Any thread may be a daemon thread. When the process ends, Python before 3.14 ends such a thread
// as soon as it waits for the GIL, by pthread_exit, for which glibc unwinds the stack. In C++
// functions that would run destructors without the GIL, end the process at a noexcept one, or
// crash: glibc unwinds by libgcc_s, and an extension that is linked with LLVM's libunwind asks that
// about the stack of the other. So it must not reach them. The linker puts the function here in
// place of the personality routine of C++, which any unwinder calls first for each function that
// has something to do: where a thread is being ended, it does not return.
//
// Nobody needs such a thread any more, and what it holds cannot be released without the GIL. Python
// 3.14 leaves it waiting itself. On Windows, macOS and with musl, pthread_exit unwinds nothing.
#if defined(__ELF__)
#include <unistd.h>
#include <unwind.h>

namespace {

[[noreturn]] void stay_forever() {
  for (;;) pause();
}

}  // namespace

#define SL_FROM_LINKER extern "C" __attribute__((used, visibility("hidden")))

#if defined(__ARM_EABI_UNWINDER__)
extern "C" _Unwind_Reason_Code __real___gxx_personality_v0(_Unwind_State, _Unwind_Control_Block*,
                                                           _Unwind_Context*);
SL_FROM_LINKER _Unwind_Reason_Code __wrap___gxx_personality_v0(_Unwind_State state,
                                                               _Unwind_Control_Block* exception,
                                                               _Unwind_Context* context) {
  if (state & _US_FORCE_UNWIND) stay_forever();
  return __real___gxx_personality_v0(state, exception, context);
}
#else
extern "C" _Unwind_Reason_Code __real___gxx_personality_v0(int, _Unwind_Action,
                                                           _Unwind_Exception_Class,
                                                           _Unwind_Exception*, _Unwind_Context*);
SL_FROM_LINKER _Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                               _Unwind_Exception_Class kind,
                                                               _Unwind_Exception* exception,
                                                               _Unwind_Context* context) {
  if (actions & _UA_FORCE_UNWIND) stay_forever();
  return __real___gxx_personality_v0(version, actions, kind, exception, context);
}
#endif
#endif
