// The table of registered operators. See custom.h.
#include "custom.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace scriptlang {

namespace {

struct Custom {
  std::string text, name;  // the schema; "my::op.overload"
  Schema schema;
  CustomFn run = nullptr;
  void* user = nullptr;
  OpEntry entry = {};
};

std::mutex mutex;
const Custom* all[kMostCustom];  // entries are never changed or removed
std::atomic<int> count{0};

// Operators of the table are plain functions without data, so each place has its own instance.
template <int kPlace>
void run_place(Context& context, Args args, Value* out) {
  const Custom& custom = *all[kPlace];
  custom.run(custom.user, context, args, out, custom.schema);
}
template <int... kPlaces>
OpFn function_of(int place, std::integer_sequence<int, kPlaces...>) {
  static constexpr OpFn functions[] = {run_place<kPlaces>...};
  return functions[place];
}

const Custom& custom_of(const OpEntry& entry) { return *all[entry.at & ~kCustomEntry]; }

// Raises for the name of a type that there is not. Classes of PyTorch's extensions have dots.
void check_known(const Type& type) {
  if (type.kind == TypeKind::Opaque && type.name.find('.') == std::string::npos) {
    raise(ErrorKind::ValueError, "there is no type ", to_string(type));
  }
  for (const TypeRef& element : type.elements) check_known(*element);
}

void check_name(const Schema& schema, const std::string& name) {
  size_t colons = schema.name.find("::");
  if (colons == std::string::npos || colons == 0 || colons + 2 == schema.name.size()) {
    raise(ErrorKind::ValueError, "'", schema.name, "' is no name of an operator: my::op is one");
  }
  if (is_built_in(schema.name)) {
    raise(ErrorKind::ValueError, "operators of ", schema.name.substr(0, colons), ":: are built in");
  }
  if (find_op(name)) raise(ErrorKind::ValueError, "there is an operator ", name, " already");
}

}  // namespace

bool is_built_in(std::string_view name) {
  const std::string_view space = name.substr(0, name.find("::"));
  for (std::string_view own : {"aten", "prim", "prims", "quantized", "prepacked", "scriptlang"}) {
    if (space == own) return true;
  }
  return false;
}

void register_custom(const std::string& schema, CustomFn run, void* user) {
  memory::RunScope scope(false);  // defaults are shared by all programs
  auto made = std::make_unique<Custom>();
  made->text = schema;
  made->name = schema.substr(0, schema.find('('));
  try {
    made->schema = parse_schema(schema);
  } catch (const Error& error) {
    if (error.kind != ErrorKind::ArchiveError) throw;
    raise(ErrorKind::ValueError, error.message);
  }
  if (made->schema.variadic_arguments || made->schema.variadic_returns) {
    raise(ErrorKind::ValueError, "an operator says all its arguments and results");
  }
  for (const Argument& a : made->schema.arguments) check_known(*a.type);
  for (const Argument& r : made->schema.returns) check_known(*r.type);
  check_name(made->schema, made->name);
  made->run = run;
  made->user = user;
  std::lock_guard<std::mutex> lock(mutex);
  const int place = count.load(std::memory_order_relaxed);
  if (place == kMostCustom) {
    raise(ErrorKind::ValueError, "there are ", kMostCustom, " operators already");
  }
  for (int k = 0; k < place; ++k) {
    if (all[k]->name == made->name) {
      raise(ErrorKind::ValueError, "there is an operator ", made->name, " already");
    }
  }
  made->entry.at = kCustomEntry | uint32_t(place);
  made->entry.run = function_of(place, std::make_integer_sequence<int, kMostCustom>());
  all[place] = made.release();
  count.store(place + 1, std::memory_order_release);
}

const OpEntry* find_custom(std::string_view qualified_name) {
  const int known = count.load(std::memory_order_acquire);
  for (int k = 0; k < known; ++k) {
    if (all[k]->name == qualified_name) return &all[k]->entry;
  }
  return nullptr;
}

std::vector<const OpEntry*> custom_overloads(std::string_view name) {
  std::vector<const OpEntry*> found;
  const int known = count.load(std::memory_order_acquire);
  for (int k = 0; k < known; ++k) {
    if (all[k]->schema.name == name) found.push_back(&all[k]->entry);
  }
  return found;
}

std::vector<const OpEntry*> all_custom() {
  std::vector<const OpEntry*> found(as_size(count.load(std::memory_order_acquire)));
  for (size_t k = 0; k < found.size(); ++k) found[k] = &all[k]->entry;
  return found;
}

const char* custom_text(const OpEntry& entry) { return custom_of(entry).text.c_str(); }
const Schema& custom_schema(const OpEntry& entry) { return custom_of(entry).schema; }

}  // namespace scriptlang
