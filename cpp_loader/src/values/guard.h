// Guard pages: each block ends where accessible memory ends, so that accesses beyond its end crash.
//
// With SCRIPTLANG_GUARD=1 in the environment every block of memory::take lies between two
// inaccessible pages. The padding that alignment needs, in front of the block and behind it, is
// filled with a pattern, which is checked when the block is freed. For tests only: a block costs
// two system calls and at least three pages.
#pragma once

#include <cstddef>

namespace scriptlang::memory {

// AddressSanitizer finds such errors itself. With it, blocks have their exact size and freed ones
// are not kept for reuse.
#if defined(__has_feature)  // clang
#if __has_feature(address_sanitizer)
#define SL_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SL_ADDRESS_SANITIZER 1
#endif
#if defined(SL_ADDRESS_SANITIZER)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

namespace guard {

bool is_on() noexcept;                          // constant while the process runs
void* take(size_t bytes, size_t alignment);     // null if there is no memory
void give(void* block, size_t bytes) noexcept;  // aborts the process if the pattern has changed

}  // namespace guard

// Whether accesses beyond the end of a block are detected. If so, data and its header must not
// share a block.
inline bool is_checked() noexcept { return kSanitized || guard::is_on(); }

// Like take, but aligned to 16 bytes only: with less padding, fewer accesses go unnoticed.
constexpr size_t kLeastAlignment = 16;
void* take_checked(size_t bytes);

}  // namespace scriptlang::memory
