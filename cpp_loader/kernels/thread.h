// Small thread-local variables that are read with one load.
//
// In a library that is loaded at run time, each access to a thread_local costs a function call,
// unless the variable is in the static TLS block. glibc reserves a little room there for such
// libraries, and all thread_locals of a library go there as soon as one does. So they must all be
// words and small objects; larger data is kept behind a pointer.
#pragma once
#include <cstdint>

#if defined(__GNUC__) && defined(__GLIBC__)
#define SL_THREAD_WORD __attribute__((tls_model("initial-exec"))) thread_local
#else
#define SL_THREAD_WORD thread_local
#endif

// The same for a variable that other files access. They need not check whether it was initialised.
#if defined(__GNUC__) && defined(__GLIBC__)
#define SL_THREAD_SHARED_WORD __attribute__((tls_model("initial-exec"))) __thread
#else
#define SL_THREAD_SHARED_WORD thread_local
#endif
