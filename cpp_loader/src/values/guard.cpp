// Allocates each block between inaccessible pages, for tests: see guard.h.
#include "guard.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace scriptlang::memory::guard {

#if defined(__linux__)

namespace {

constexpr unsigned char kPattern = 0xa5;

size_t page() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

uintptr_t rounded(uintptr_t value, size_t to) { return (value + to - 1) & ~uintptr_t(to - 1); }

// The readable pages of a block: [begin, end), without the two inaccessible ones.
struct Pages {
  Pages(const void* block, size_t bytes) {
    uintptr_t at = reinterpret_cast<uintptr_t>(block);
    end = reinterpret_cast<unsigned char*>(rounded(at + bytes, page()));
    begin = reinterpret_cast<unsigned char*>(at & ~uintptr_t(page() - 1));
    if (begin == end) begin -= page();  // an empty block
  }
  unsigned char *begin, *end;
};

void check(const unsigned char* begin, const unsigned char* end, const void* block, size_t bytes) {
  for (const unsigned char* at = begin; at < end; ++at) {
    if (*at == kPattern) continue;
    std::fprintf(stderr, "SUMMARY: guard: byte %td of a block of %zu bytes was written\n",
                 at - static_cast<const unsigned char*>(block), bytes);
    std::abort();
  }
}

}  // namespace

bool is_on() noexcept {
  static const bool on = [] {
    const char* wanted = std::getenv("SCRIPTLANG_GUARD");
    return wanted && std::strcmp(wanted, "0") != 0 && *wanted;
  }();
  return on;
}

void* take(size_t bytes, size_t alignment) {
  size_t used = rounded(bytes, alignment), pages = rounded(used ? used : 1, page());
  char* mapped = static_cast<char*>(mmap(nullptr, pages + 2 * page(), PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (mapped == MAP_FAILED) return nullptr;
  char *begin = mapped + page(), *end = begin + pages;
  if (mprotect(begin, pages, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapped, pages + 2 * page());
    return nullptr;
  }
  char* block = end - used;
  std::memset(begin, kPattern, size_t(block - begin));
  std::memset(block + bytes, kPattern, used - bytes);
  return block;
}

void give(void* block, size_t bytes) noexcept {
  Pages pages(block, bytes);
  unsigned char* at = static_cast<unsigned char*>(block);
  check(pages.begin, at, block, bytes);
  check(at + bytes, pages.end, block, bytes);
  munmap(pages.begin - page(), size_t(pages.end - pages.begin) + 2 * page());
}

#else

bool is_on() noexcept { return false; }
void* take(size_t, size_t) { return nullptr; }
void give(void*, size_t) noexcept {}

#endif

}  // namespace scriptlang::memory::guard
