// Guarded blocks: what touches memory behind or before them ends the process.
#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "harness.h"
#include "values/guard.h"
#include "values/tensor.h"

using namespace scriptlang;
using namespace test;

#if defined(__linux__)

namespace {

// Whether a child process that does it is ended.
template <class F>
bool ends(F&& what) {
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    setenv("SCRIPTLANG_GUARD", "1", 1);
    what();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

template <class F>
bool ends_with_block(size_t bytes, F&& what) {
  return ends([&] {
    volatile char* block = static_cast<char*>(memory::guard::take(bytes, 16));
    std::memset(const_cast<char*>(block), 1, bytes);
    what(block);
    memory::guard::give(const_cast<char*>(block), bytes);
  });
}

}  // namespace

TEST(blocks_are_whole) {
  for (size_t bytes : {0, 1, 16, 100, 4095, 4096, 4097, 100000}) {
    CHECK(!ends_with_block(bytes, [](volatile char*) {}));
  }
}

TEST(a_byte_behind_or_before_is_seen) {
  for (size_t bytes : {0, 1, 15, 16, 17, 4095, 4096, 4097}) {
    CHECK(ends_with_block(bytes, [&](volatile char* block) { block[bytes] = 1; }));
    CHECK(ends_with_block(bytes, [&](volatile char* block) { block[-1] = 1; }));
  }
}

TEST(what_is_read_behind_the_alignment_is_seen) {
  CHECK(ends_with_block(32, [](volatile char* block) { (void)block[32]; }));
  CHECK(ends_with_block(20, [](volatile char* block) { (void)block[32]; }));
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(tensors_lie_in_such_blocks) {
  auto touched = [](int64_t at) {
    return ends([at] {
      Tensor t = Tensor::empty({3, 5}, ScalarType::Float32);
      static_cast<volatile float*>(t.raw())[at] = 1;
      t = {};
    });
  };
  if (!memory::guard::is_on()) {  // decided when the process began: run this test with the variable
    CHECK(!touched(14));
    return;
  }
  CHECK(!touched(14));
  CHECK(touched(15));
  CHECK(touched(-1));
}
#endif

#endif

int main(int count, char** arguments) { return test::main(count, arguments); }
