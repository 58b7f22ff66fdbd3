/* Checks for the clients, in C99 and C++: they go on after a failure, and count it. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      ++failures;                                                   \
      printf("%s:%d: false: %s\n", __FILE__, __LINE__, #condition); \
    }                                                               \
  } while (0)

#endif
