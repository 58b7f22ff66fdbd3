// Saves a module: writes its archive again, with the objects and tensors that it has now. Code,
// constants and all other records are copied from the archive that was loaded.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module.h"

namespace scriptlang {

// (name, contents) of extra files. They replace the archive's extra files of the same names.
using ExtraFiles = std::vector<std::pair<std::string, std::string_view>>;
using WriteBytes = std::function<void(const void* data, size_t size)>;

// Saves an archive whose root is `root`, an object of the module: module->root() for all of it.
// `write` gets the bytes in order. Raises RuntimeError, before anything is written, if an archive
// cannot hold the values.
void save(Module* module, const Value& root, const ExtraFiles& extra, const WriteBytes& write);
// The same, to a file. The file is written completely or stays as it was. Raises RuntimeError with
// the reason that the system gives.
void save_file(Module* module, const Value& root, const ExtraFiles& extra, const std::string& path);

}  // namespace scriptlang
