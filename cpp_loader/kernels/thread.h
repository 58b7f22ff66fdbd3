// Small variables of a thread's own, read with one load.
//
// In a library that is loaded late, a thread_local costs a call at each access, unless it lies in
// the part of the thread's block that is laid out at its start. glibc keeps room there for
// libraries that come later; it is small, and all thread_locals of a library go there as soon as
// one does. So a library's must all be words and small objects: what is larger hangs on a pointer.
#pragma once
#include <cstdint>

#if defined(__GNUC__) && defined(__GLIBC__)
#define SL_THREAD_WORD __attribute__((tls_model("initial-exec"))) thread_local
#else
#define SL_THREAD_WORD thread_local
#endif

// The same for one that other files see. They need not ask whether it was initialised.
#if defined(__GNUC__) && defined(__GLIBC__)
#define SL_THREAD_SHARED_WORD __attribute__((tls_model("initial-exec"))) __thread
#else
#define SL_THREAD_SHARED_WORD thread_local
#endif
