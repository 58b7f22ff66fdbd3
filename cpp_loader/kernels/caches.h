// How large the caches are, which says how much of a matrix is worked on at a time.
#pragma once

#include <cstdint>

namespace scriptlang::kernels {

// Bytes of the second-level cache of a core; kUsualSecondCache where nothing tells them.
int64_t second_cache_bytes() noexcept;
constexpr int64_t kUsualSecondCache = 512 << 10;

// Bytes of a block that is to stay in the second-level cache: `usual` for the usual size or more,
// less for a smaller cache.
int64_t second_cache_block(int64_t usual) noexcept;

}  // namespace scriptlang::kernels
