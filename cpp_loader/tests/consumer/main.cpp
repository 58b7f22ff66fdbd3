// A program of somebody who installed the library: it has errors of its own class, and links.
#include <cstdio>
#include <scriptlang/scriptlang.hpp>

int main(int count, char** arguments) {
  try {
    scriptlang::load(count > 1 ? arguments[1] : "/no/such/file");
  } catch (const scriptlang::Error& e) {
    std::printf("scriptlang %s: %s\n", sl_version(), e.what());
    return e.status() == SL_ARCHIVE_ERROR ? 0 : 1;
  }
  return 1;
}
