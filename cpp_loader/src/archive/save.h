// Saving a module: its archive again, with the objects and tensors that it has now. Code, constants
// and all else are the records that were read.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module.h"

namespace scriptlang {

// Files beside the program, by name; they take the place of those of these names in the archive.
using ExtraFiles = std::vector<std::pair<std::string, std::string_view>>;
using WriteBytes = std::function<void(const void* data, size_t size)>;

// root: an object of the module; the archive's is saved by module->root(). What `write` gets is
// complete when this returns; it is nothing where the values cannot be kept (RuntimeError).
void save(Module* module, const Value& root, const ExtraFiles& extra, const WriteBytes& write);
// The same to a file, which is there whole or not at all. Raises RuntimeError with the reason of
// the system.
void save_file(Module* module, const Value& root, const ExtraFiles& extra, const std::string& path);

}  // namespace scriptlang
