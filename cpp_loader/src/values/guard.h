// Blocks that end where readable memory ends, to find what reads or writes past them.
//
// SCRIPTLANG_GUARD=1 in the environment puts every block of memory::take between two pages that
// nobody may touch.  What alignment leaves over, before and behind the block, is filled with a
// pattern, which is looked at when the block is given back.  For tests: a block costs two system
// calls and at least three pages.
#pragma once

#include <cstddef>

namespace scriptlang::memory {

// Under AddressSanitizer, which finds such errors itself, blocks have their exact size and are not
// kept either.
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

bool is_on() noexcept;  // the same all the time
void* take(size_t bytes, size_t alignment);  // null where there is no memory
void give(void* block, size_t bytes) noexcept;  // ends the process where the pattern has changed

}  // namespace guard

// Whether blocks are checked, so that data must not share one with its header.
inline bool is_checked() noexcept { return kSanitized || guard::is_on(); }

// As take, with less alignment, so that fewer bytes behind the block can be touched unseen.
constexpr size_t kLeastAlignment = 16;
void* take_checked(size_t bytes);

}  // namespace scriptlang::memory
