// A test is a function; a failed check says where, what was wanted and what was there.
//
//   TEST(lists_share_identity) { CHECK_EQ(a.size(), 2u); CHECK_RAISES(RuntimeError, "zero", f()); }
#pragma once

#include <cstdio>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "values/error.h"

namespace test {

struct Case {
  const char* name;
  void (*run)();
};
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
inline int& failures() {
  static int count = 0;
  return count;
}

struct Registrar {
  Registrar(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

inline void fail(const char* file, int line, const std::string& what) {
  ++failures();
  std::printf("%s:%d: %s\n", file, line, what.c_str());
}

template <class T>
std::string show(const T& v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

template <class A, class B>
void check_equal(const char* file, int line, const char* text, const A& a, const B& b) {
  if (!(a == b)) fail(file, line, std::string(text) + ": " + show(a) + " != " + show(b));
}

inline void check_raises(const char* file, int line, scriptlang::ErrorKind kind,
                         const std::string& part, const std::function<void()>& body) {
  try {
    body();
  } catch (const scriptlang::Error& e) {
    if (e.kind != kind) {
      fail(file, line,
           std::string("raises ") + scriptlang::error_kind_name(e.kind) + ": " + e.message);
    } else if (e.message.find(part) == std::string::npos) {
      fail(file, line, "the message lacks '" + part + "': " + e.message);
    }
    return;
  }
  fail(file, line, "nothing is raised; wanted '" + part + "'");
}

// Runs the tests whose name contains the first argument, or all.
inline int main(int count, char** arguments) {
  int ran = 0;
  for (const Case& c : cases()) {
    if (count > 1 && std::string(c.name).find(arguments[1]) == std::string::npos) continue;
    int before = failures();
    try {
      c.run();
    } catch (const std::exception& e) {
      fail(c.name, 0, std::string("ends with an exception: ") + e.what());
    }
    ++ran;
    if (failures() != before) std::printf("  in %s\n", c.name);
  }
  std::printf("%d tests, %d failures\n", ran, failures());
  return failures() != 0 || ran == 0;
}

}  // namespace test

#define TEST(name)                                        \
  static void name();                                     \
  static ::test::Registrar registrar_##name(#name, name); \
  static void name()
#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) ::test::fail(__FILE__, __LINE__, "false: " #condition); \
  } while (0)
#define CHECK_EQ(a, b) ::test::check_equal(__FILE__, __LINE__, #a " == " #b, a, b)
#define CHECK_RAISES(kind, part, ...)                                           \
  ::test::check_raises(__FILE__, __LINE__, ::scriptlang::ErrorKind::kind, part, \
                       [&] { __VA_ARGS__; })
