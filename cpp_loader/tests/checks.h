// Checks of tests that are clients: the engine's own headers stay out of them.
#pragma once

#include <cstdio>

static int failures = 0;
#define CHECK(condition)                                                 \
  do {                                                                   \
    if (!(condition)) {                                                  \
      ++failures;                                                        \
      std::printf("%s:%d: false: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                    \
  } while (0)
