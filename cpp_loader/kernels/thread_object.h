// Objects of which each thread has one, and whose destructors run when it ends.
#pragma once

#include <new>

#if defined(__MINGW32__)
#include <pthread.h>
#endif

namespace scriptlang {

// The object of this thread, made when it first asks. T is a type of its own for each use.
template <class T>
T& thread_object() {
#if defined(__MINGW32__) && !defined(__clang__)
  // GCC for Windows keeps thread_locals in blocks that it may free before the destructors run.
  static const pthread_key_t key = [] {
    pthread_key_t made;
    if (pthread_key_create(&made, [](void* object) { delete static_cast<T*>(object); }) != 0) {
      throw std::bad_alloc();
    }
    return made;
  }();
  if (void* known = pthread_getspecific(key)) return *static_cast<T*>(known);
  T* made = new T;
  if (pthread_setspecific(key, made) != 0) {
    delete made;
    throw std::bad_alloc();
  }
  return *made;
#else
  static thread_local T object;
  return object;
#endif
}

}  // namespace scriptlang
