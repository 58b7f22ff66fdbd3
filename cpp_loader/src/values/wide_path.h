// Paths for the system's functions: Windows' take UTF-16.
#pragma once

#include <string>

#if defined(_WIN32)
#if !defined(NOMINMAX)  // libstdc++ may have it
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace scriptlang {

// A path in UTF-8 as one of Windows.
inline std::wstring wide_path(const std::string& utf8) {
  const int size = MultiByteToWideChar(CP_UTF8, 0, utf8.data(), int(utf8.size()), nullptr, 0);
  std::wstring wide(size_t(size), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, utf8.data(), int(utf8.size()), wide.data(), size);
  return wide;
}
inline std::wstring system_path(const std::string& utf8) { return wide_path(utf8); }

}  // namespace scriptlang
#else

namespace scriptlang {

inline const std::string& system_path(const std::string& utf8) { return utf8; }

}  // namespace scriptlang
#endif
