// The C API: plug-ins, which are libraries of operators that a host loads at run time. See
// scriptlang/plugin.h.
#define SCRIPTLANG_PLUGIN_HOST
#include <scriptlang/plugin.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "capi.h"
#include "values/callbacks.h"

#if defined(_WIN32)
#include "values/wide_path.h"
#elif __has_include(<dlfcn.h>)
#include <dlfcn.h>
#include <sys/stat.h>
#else
#define SL_NO_LIBRARIES
#endif

using namespace scriptlang;
using namespace scriptlang::capi;

namespace {

// The table of functions that plug-ins get.
const sl_host& host() {
  static const sl_host table = [] {
    sl_host made = {};
    made.abi = SL_PLUGIN_ABI;
    made.size = sizeof(sl_host);
    // clang-format off
#define SL_GIVES(name) made.name = sl_##name;
    SL_GIVES(error_make) SL_GIVES(version) SL_GIVES(register_operator) SL_GIVES(value_release)
    SL_GIVES(value_share) SL_GIVES(value_none) SL_GIVES(value_bool) SL_GIVES(value_int)
    SL_GIVES(value_double) SL_GIVES(value_complex) SL_GIVES(value_string) SL_GIVES(value_device)
    SL_GIVES(value_generator) SL_GIVES(value_list) SL_GIVES(value_tuple) SL_GIVES(value_dict)
    SL_GIVES(dict_get) SL_GIVES(dict_set) SL_GIVES(dict_remove) SL_GIVES(dict_next)
    SL_GIVES(list_set) SL_GIVES(list_append) SL_GIVES(list_remove) SL_GIVES(list_ints)
    SL_GIVES(list_doubles) SL_GIVES(tensor_view) SL_GIVES(tensor_strided) SL_GIVES(tensor_copy)
    SL_GIVES(value_kind) SL_GIVES(value_get_bool) SL_GIVES(value_get_int)
    SL_GIVES(value_get_double) SL_GIVES(value_get_complex) SL_GIVES(value_get_string)
    SL_GIVES(value_length) SL_GIVES(value_item) SL_GIVES(value_key) SL_GIVES(value_field)
    SL_GIVES(value_member) SL_GIVES(value_class) SL_GIVES(value_text) SL_GIVES(text_release)
    SL_GIVES(tensor_info) SL_GIVES(tensor_data) SL_GIVES(tensor_contiguous) SL_GIVES(tensor_to)
    SL_GIVES(tensor_read) SL_GIVES(tensor_assign) SL_GIVES(tensor_to_dlpack)
    SL_GIVES(tensor_from_dlpack) SL_GIVES(error_release) SL_GIVES(error_status)
    SL_GIVES(error_class) SL_GIVES(error_message) SL_GIVES(error_stack) SL_GIVES(get_threads)
#undef SL_GIVES
        // clang-format on
        return made;
  }();
  return table;
}

#if !defined(SL_NO_LIBRARIES)

// Starts a plug-in. Catches exceptions, too, although a plug-in in C++ should not throw.
sl_status start(const sl_plugin_entry& entry, const std::string& path, sl_error** error) {
  sl_error* raised = nullptr;
  sl_status status;
  try {
    memory::CallbackScope inside;
    status = entry.start(&host(), &raised);
  } catch (...) { status = report_current(&raised); }
  if (status == SL_OK) {
    sl_error_release(raised);
    return SL_OK;
  }
  const std::string why = raised ? raised->message : "it says nothing of why";
  const std::string class_name = raised ? raised->class_name : "RuntimeError";
  sl_error_release(raised);
  return report(error, status, class_name.c_str(),
                concat(path, " is a plug-in that does not start: ", why).c_str());
}

// Why a library cannot be used as a plug-in; empty if it can.
std::string objection(const sl_plugin_entry* entry) {
  if (!entry) { return "exports no sl_plugin: it is made with SL_PLUGIN of scriptlang/plugin.h"; }
  const std::string remedy =
      concat("; build it with the headers of this scriptlang, which is ", sl_version());
  if (entry->abi != SL_PLUGIN_ABI) {
    return concat("is made for ", entry->abi < SL_PLUGIN_ABI ? "an older" : "a newer",
                  " scriptlang: its plug-in ABI is ", entry->abi, ", not ", SL_PLUGIN_ABI, remedy);
  }
  if (entry->host_size > sizeof(sl_host)) {
    return concat("is made for a newer scriptlang, whose table has ", entry->host_size,
                  " bytes, not ", sizeof(sl_host), remedy);
  }
  return entry->start ? "" : "has no function that starts it";
}

// Libraries of the system.
#if defined(_WIN32)

const std::string& path_of(const std::string& given) { return given; }
bool is_file(const std::string& path) {
  return GetFileAttributesW(wide_path(path).c_str()) != INVALID_FILE_ATTRIBUTES;
}
void* open_library(const std::string& path, std::string* why) {
  // A path in full, as the flags want it, of which the folder is searched for further libraries.
  std::wstring full(32768, L'\0');
  full.resize(GetFullPathNameW(wide_path(path).c_str(), DWORD(full.size()), full.data(), nullptr));
  HMODULE library = LoadLibraryExW(
      full.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  if (!library) *why = concat("error ", int64_t(GetLastError()), " of Windows");
  return library;
}
const void* find_symbol(void* library, const char* name) {
  return reinterpret_cast<const void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}
void close_library(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

#else

// dlopen() would search the system's folders for a name without a slash.
std::string path_of(const std::string& given) {
  return given.find('/') == std::string::npos ? "./" + given : given;
}
bool is_file(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0;
}
void* open_library(const std::string& path, std::string* why) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* said = library ? nullptr : dlerror();
  if (said) *why = said;
  return library;
}
const void* find_symbol(void* library, const char* name) { return dlsym(library, name); }
void close_library(void* library) { dlclose(library); }

#endif

void open(const std::string& given, sl_status* status, sl_error** error) {
  // The libraries that stay open, and whether each has started. A library is opened once for good,
  // even if it does not start, because it may have registered operators by then.
  static std::mutex mutex;
  static std::vector<std::pair<void*, bool>> opened;
  const std::string path = path_of(given);
  if (!is_file(path)) raise(ErrorKind::ValueError, "there is no file ", given);
  std::string why;
  void* library = open_library(path, &why);
  if (!library) raise(ErrorKind::ValueError, given, " is no library that can be loaded: ", why);
  const auto* entry = static_cast<const sl_plugin_entry*>(find_symbol(library, "sl_plugin"));
  const std::string wrong = objection(entry);
  if (!wrong.empty()) {
    close_library(library);
    raise(ErrorKind::ValueError, given, " ", wrong);
  }
  std::lock_guard<std::mutex> lock(mutex);
  auto known = std::find_if(opened.begin(), opened.end(),
                            [library](const auto& one) { return one.first == library; });
  if (known != opened.end()) {
    close_library(library);  // the handle of the first time stays open
  } else {
    known = opened.insert(opened.end(), {library, false});
  }
  if (known->second) return;
  *status = start(*entry, given, error);
  known->second = *status == SL_OK;
}

#endif

}  // namespace

sl_status sl_load_library(const char* path, sl_error** error) {
  if (!path) return misuse(error, "sl_load_library needs a path");
  if (memory::in_callback()) {
    return misuse(error, "a callback of the library must not load libraries");
  }
#if !defined(SL_NO_LIBRARIES)
  sl_status status = SL_OK;
  sl_error* why = nullptr;
  sl_status opened = guarded(error, [&] { open(path, &status, &why); });
  if (opened == SL_OK && status != SL_OK && error) {
    *error = why;
    return status;
  }
  sl_error_release(why);
  if (opened != SL_RUN_ERROR) return opened == SL_OK ? status : opened;
  if (error && *error) (*error)->status = SL_INVALID_ARGUMENT;
  return SL_INVALID_ARGUMENT;
#else
  return misuse(error, "this scriptlang is built for a system without shared libraries");
#endif
}
