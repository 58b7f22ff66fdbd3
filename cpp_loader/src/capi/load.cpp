// The C API: loads archives from files, memory and streams, and saves them.
#include <cstdio>
#include <cstring>

#include "archive/save.h"
#include "capi.h"
#include "kernels/can_run.h"
#include "values/callbacks.h"

using namespace scriptlang;
using namespace scriptlang::capi;

namespace {

// The options of the caller. Fields that an older caller does not have are zero, and fields that
// this library does not know are ignored.
sl_load_options known_options(const sl_load_options* given) {
  sl_load_options known = {};
  if (given) std::memcpy(&known, given, std::min(given->size, sizeof known));
  return known;
}

// Returns null, or what is wrong with the options.
const char* check_options(const sl_load_options* given) {
  if (!given) return nullptr;
  if (given->size < sizeof(size_t) + sizeof(const char*)) {
    return "the size of options is not set: it is sizeof(sl_load_options)";
  }
  sl_load_options known = known_options(given);
  if (!known.device) return nullptr;
  try {
    Outside outside;
    parse_device(known.device);
    return nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;  // the load will report it
  } catch (...) { return "the device of the options is no device, such as cpu or cuda:0"; }
}

void give_notices(const sl_load_options* given) {
  sl_load_options options = known_options(given);
  if (!options.device || parse_device(options.device).kind == Device::Cpu) return;
  std::string text = concat("scriptlang: the module is to be on ", options.device,
                            ": that is ignored, all runs on the CPU\n");
  memory::CallbackScope inside;
  if (options.notice) options.notice(text.data(), text.size(), options.user);
  else std::fwrite(text.data(), 1, text.size(), stderr);
}

template <class F>
sl_status load_with(const sl_load_options* options, sl_module** module, sl_error** error,
                    F&& body) noexcept {
  if (const char* wrong = check_options(options)) return misuse(error, wrong);
  return guarded(error, [&] {
    if (!kernels::can_run()) {
      raise(ErrorKind::RuntimeError,
            "this build of the library needs instructions that this processor lacks; another "
            "SCRIPTLANG_ISA builds one without them");
    }
    std::shared_ptr<Module> loaded = body();
    give_notices(options);
    *module = module_handle(loaded, loaded->root(), nullptr);
  });
}

}  // namespace

sl_status sl_load_file(const char* path, sl_module** module, sl_error** error) {
  return sl_load_file_with(path, nullptr, module, error);
}

sl_status sl_load_memory(const void* data, size_t size, sl_module** module, sl_error** error) {
  return sl_load_memory_with(data, size, nullptr, module, error);
}

sl_status sl_load_file_with(const char* path, const sl_load_options* options, sl_module** module,
                            sl_error** error) {
  if (module) *module = nullptr;
  if (!path || !module) return misuse(error, "sl_load_file needs a path and a place");
  return load_with(options, module, error, [&] { return Module::load_file(path); });
}

sl_status sl_load_memory_with(const void* data, size_t size, const sl_load_options* options,
                              sl_module** module, sl_error** error) {
  if (module) *module = nullptr;
  if ((!data && size) || !module) return misuse(error, "sl_load_memory needs data and a place");
  return load_with(options, module, error, [&] { return Module::load_memory(data, size); });
}

namespace {

std::vector<char> read_all(size_t (*read)(void* to, size_t bytes, void* user), void* user) {
  constexpr size_t kChunk = 1 << 20;
  std::vector<char> all;
  for (size_t size = 0;;) {
    if (all.size() - size < kChunk) all.resize(std::max(2 * all.size(), 2 * kChunk));
    size_t room = all.size() - size, got;
    {
      memory::CallbackScope inside;
      got = read(all.data() + size, room, user);
    }
    if (got > room) raise(ErrorKind::ArchiveError, "the stream cannot be read");
    size += got;
    if (got > 0) continue;
    all.resize(size);
    return all;
  }
}

}  // namespace

sl_status sl_load_stream(size_t (*read)(void* to, size_t bytes, void* user), void* user,
                         const sl_load_options* options, sl_module** module, sl_error** error) {
  if (module) *module = nullptr;
  if (!read || !module) return misuse(error, "sl_load_stream needs a function and a place");
  return load_with(options, module, error, [&] {
    std::vector<char> bytes = read_all(read, user);
    return Module::load_memory(bytes.data(), bytes.size());
  });
}

void sl_module_release(sl_module* module) {
  Outside outside;
  delete module;
}

// ---- extra files

size_t sl_module_extra_count(const sl_module* module) {
  return module ? module->extras->names().size() : 0;
}
const char* sl_module_extra_name(const sl_module* module, size_t index) {
  if (index >= sl_module_extra_count(module)) return nullptr;
  return module->extras->names()[index].c_str();
}
sl_status sl_module_extra(const sl_module* module, const char* name, const char** data,
                          size_t* size, sl_error** error) {
  if (data) *data = nullptr;
  if (size) *size = 0;
  if (!module || !name || !data) return misuse(error, "sl_module_extra needs three pointers");
  bool found = true;
  sl_status status = guarded(error, [&] {
    const std::string* text = module->extras->read(module->module->archive(), name);
    found = text != nullptr;
    if (!found) return;
    *data = text->c_str();
    if (size) *size = text->size();
  });
  if (status != SL_OK || found) return status;
  return misuse(error, "the archive has no extra file of that name");
}

// ---- saving

namespace {

// Returns null, or what is wrong with the extra files.
const char* check_extra(const sl_extra* extra, size_t count) {
  if (!extra && count) return "the extra files are null";
  for (size_t k = 0; k < count; ++k) {
    if (!extra[k].name || !extra[k].name[0]) return "an extra file has no name";
    if (!extra[k].data && extra[k].size) return "an extra file has no data";
    const std::string_view name = extra[k].name;
    if (name[0] == '/' || name.find("..") != name.npos || name.find('\\') != name.npos) {
      return "the name of an extra file is no relative path";
    }
    for (size_t other = 0; other < k; ++other) {
      if (name == extra[other].name) return "two extra files have the same name";
    }
  }
  return nullptr;
}

template <class F>
sl_status saved(sl_module* module, const sl_extra* extra, size_t count, sl_error** error,
                F&& body) noexcept {
  if (const char* wrong = check_extra(extra, count)) return misuse(error, wrong);
  if (memory::in_callback()) return misuse(error, "callbacks must not save modules");
  return guarded(error, [&] {
    ExtraFiles files;
    for (size_t k = 0; k < count; ++k) {
      files.emplace_back(extra[k].name, std::string_view());
      if (extra[k].size) {
        files.back().second = {static_cast<const char*>(extra[k].data), extra[k].size};
      }
    }
    const ClassType& cls = *module->object.as_object().type;
    if (!module->module->is_module(cls)) {
      raise(ErrorKind::RuntimeError, "only modules are saved, and ",
            module->module->program().classes()->name_of(cls), " is none");
    }
    body(module->module.get(), module->object, files);
  });
}

}  // namespace

sl_status sl_save_file(sl_module* module, const char* path, const sl_extra* extra, size_t count,
                       sl_error** error) {
  if (!module || !path) return misuse(error, "sl_save_file needs a module and a path");
  return saved(module, extra, count, error,
               [&](Module* whole, const Value& object, const ExtraFiles& files) {
                 save_file(whole, object, files, path);
               });
}

sl_status sl_save_stream(sl_module* module, int (*write)(const void* data, size_t size, void* user),
                         void* user, const sl_extra* extra, size_t count, sl_error** error) {
  if (!module || !write) return misuse(error, "sl_save_stream needs a module and a function");
  return saved(module, extra, count, error,
               [&](Module* whole, const Value& object, const ExtraFiles& files) {
                 save(whole, object, files, [&](const void* data, size_t size) {
                   memory::CallbackScope inside;
                   if (size && write(data, size, user) != 0) {
                     raise(ErrorKind::RuntimeError, "the stream cannot be written");
                   }
                 });
               });
}
