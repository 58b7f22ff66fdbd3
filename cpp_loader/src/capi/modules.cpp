// The C API: reads and changes the attributes and submodules of modules, lists their methods, and
// copies, converts and prints modules.
#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "autograd/history.h"
#include "capi.h"
#include "ops/pointwise.h"
#include "values/callbacks.h"
#include "values/dict.h"
#include "values/quantizer.h"

using namespace scriptlang;
using namespace scriptlang::capi;

namespace {

constexpr int kMostNested = 1000;
// The most attributes that are visited. It is needed because modules may share submodules: one that
// holds a module twice, which holds another one twice, and so on, has exponentially many.
constexpr size_t kMostListed = 1 << 22;

// The place of an attribute: an object and a slot of it.
struct Place {
  Value object;
  int64_t slot = -1;
  const ClassType& cls() const { return *object.as_object().type; }
  Value& value() const { return object.as_object().slots[size_t(slot)]; }
};

// Follows a dotted name from an object. False if there is no such attribute. The caller must hold a
// turn.
bool find_place(const Value& from, std::string_view name, Place* place) {
  Value at = from;
  for (;;) {
    size_t dot = std::min(name.find('.'), name.size());
    if (!at.is_object()) return false;
    const Object& object = at.as_object();
    place->slot = object.type->slot(name.substr(0, dot));
    if (place->slot < 0 || place->slot >= int64_t(object.slots.size())) return false;
    place->object = at;
    if (dot == name.size()) return true;
    Value next = place->value();
    at = std::move(next);
    name.remove_prefix(dot + 1);
  }
}

// Calls a body that returns false if something is absent, and reports that as misuse.
template <class F>
sl_status found_by(sl_error** error, const char* absent, F&& body) noexcept {
  bool found = true;
  sl_status status = guarded(error, [&] { found = body(); });
  return status != SL_OK || found ? status : misuse(error, absent);
}

constexpr char kNoAttribute[] = "the module has no attribute of that name";

// Visits the attributes of a module and of its submodules.
class Walk {
 public:
  explicit Walk(Module* module) : module_(*module) {}

  // Calls visit(name, class, slot, value) for each attribute; with `recurse`, also for those of
  // submodules, under dotted names.
  template <class Visit>
  void attributes(const Value& object, bool recurse, Visit&& visit, const std::string& prefix = "",
                  int depth = 0) {
    if (depth > kMostNested) raise(ErrorKind::RuntimeError, "the module is nested too deeply");
    const Object& held = object.as_object();
    const ClassType& cls = *held.type;
    for (size_t k = 0; k < held.slots.size() && k < cls.attributes.size(); ++k) {
      if (++count_ > kMostListed) {
        raise(ErrorKind::RuntimeError, "the module has over ", kMostListed, " attributes");
      }
      std::string name = prefix + cls.attributes[k];
      visit(name, cls, k, held.slots[k]);
      if (!recurse || !is_module(held.slots[k])) continue;
      attributes(held.slots[k], true, visit, name + ".", depth + 1);
    }
  }
  bool is_module(const Value& value) {
    return value.is_object() && module_.is_module(*value.as_object().type);
  }
  Role role(const ClassType& cls, size_t slot, const Value& held) {
    return module_.role_of(cls, slot, held);
  }

 private:
  Module& module_;
  size_t count_ = 0;
};

}  // namespace

const char* sl_module_class(const sl_module* module) {
  if (!module) return "";
  const ClassType& cls = *module->object.as_object().type;
  return module->module->program().classes()->name_of(cls).c_str();
}
namespace {

// The names of the methods. Empty if they cannot be found; a call reports the error then.
const std::vector<std::string>& known_methods(const sl_module* module) noexcept {
  static const std::vector<std::string>* const none = new std::vector<std::string>();
  const std::vector<std::string>* known = none;
  bool may_ask = module && !memory::in_callback();
  if (may_ask) guarded(nullptr, [&] { known = &methods_of(*module); });
  return *known;
}

}  // namespace

size_t sl_module_method_count(const sl_module* module) { return known_methods(module).size(); }
const char* sl_module_method_name(const sl_module* module, size_t index) {
  const std::vector<std::string>& names = known_methods(module);
  return index < names.size() ? names[index].c_str() : nullptr;
}
int sl_module_has_method(const sl_module* module, const char* name) {
  const std::vector<std::string>& names = known_methods(module);
  return name &&
         std::binary_search(names.begin(), names.end(), std::string_view(name), std::less<>());
}
size_t sl_module_missing_count(const sl_module* module) {
  return module ? module->module->missing_operators().size() : 0;
}
const char* sl_module_missing_name(const sl_module* module, size_t index) {
  if (index >= sl_module_missing_count(module)) return nullptr;
  return module->module->missing_operators()[index].name.c_str();
}

// ---- attributes

sl_status sl_module_attribute(const sl_module* module, const char* name, sl_value** value,
                              sl_error** error) {
  if (value) *value = nullptr;
  if (!module || !name || !value) return misuse(error, "sl_module_attribute needs three pointers");
  return found_by(error, kNoAttribute, [&] {
    Turn turn;
    turn.look(module->module->domain(), false);
    Place place;
    if (!find_place(module->object, name, &place)) return false;
    *value = value_of(*module->module, place.value());
    return true;
  });
}

int sl_module_has_attribute(const sl_module* module, const char* name) {
  if (!module || !name) return 0;
  bool found = false;
  guarded(nullptr, [&] {
    Turn turn;
    turn.look(module->module->domain(), false);
    Place place;
    found = find_place(module->object, name, &place);
  });
  return found;
}

namespace {

// Converts a value to the type of an attribute. If the attribute has no declared type, the value
// must be of the same kind as the old one. Raises RuntimeError.
Value fitting(const Program& program, const Place& place, const char* name, const Value& value) {
  const ClassType& cls = place.cls();
  std::string what = concat("attribute '", name, "'");
  const Value& old = place.value();
  const bool same_sort = value.is_object() == old.is_object();
  if (place.slot < int64_t(cls.types.size()) && cls.types[size_t(place.slot)]) {
    const TypeRef& type = cls.types[size_t(place.slot)];
    // Values of the type of an interface cannot be checked, besides that they are objects.
    if (type->kind != TypeKind::Class || same_sort) return converted(program, value, type, what);
    raise(ErrorKind::RuntimeError, "Expected a value of type '", to_string(*type), "' for ", what,
          " but instead found type '", type_text(value), "'");
  }
  bool same = kind_of(value.tag()) == kind_of(old.tag()) || old.is_none() || value.is_none();
  if (old.is_object() && value.is_object()) {
    same = old.as_object().type.get() == value.as_object().type.get();
  }
  if (old.is_double() && value.is_int()) return Value(double(value.as_int()));
  if (!same) {
    raise(ErrorKind::RuntimeError, "Expected a value of type '", type_text(old), "' for ", what,
          " but instead found type '", type_text(value), "'");
  }
  return converted(program, value, Type::make(TypeKind::Any), what);  // copies lists and dicts
}

}  // namespace

sl_status sl_module_set_attribute(sl_module* module, const char* name, const sl_value* value,
                                  sl_error** error) {
  if (!module || !name) return misuse(error, "sl_module_set_attribute needs a module and a name");
  if (memory::in_callback()) return misuse(error, kInCallback);
  return found_by(error, kNoAttribute, [&] {
    module->module->restore();
    module->module->complete();  // the archive's code declares the types of attributes
    module->module->domain()->retain();
    DomainRef domain(module->module->domain());
    join_domain(&domain, value);
    Turn turn;
    turn.look(module->module->domain(), true);
    Place place;
    if (!find_place(module->object, name, &place)) return false;
    Value made = fitting(module->module->program(), place, name, value ? value->value : Value());
    if (reaches(made, place.object)) {
      raise(ErrorKind::RuntimeError, "the value for attribute '", name, "' holds the module");
    }
    made.publish();
    place.value().swap(made);  // the old value is dropped last
    return true;
  });
}

// ---- submodules and other objects

sl_status sl_module_child(const sl_module* module, const char* name, sl_module** child,
                          sl_error** error) {
  if (child) *child = nullptr;
  if (!module || !name || !child) return misuse(error, "sl_module_child needs three pointers");
  if (memory::in_callback()) return misuse(error, kInCallback);
  return found_by(error, "the module has no submodule of that name", [&] {
    module->module->restore();
    Value object = module->object;
    if (name[0]) {
      Turn turn;
      turn.look(module->module->domain(), false);
      Place place;
      if (!find_place(module->object, name, &place) || !place.value().is_object()) return false;
      object = place.value();
    }
    *child = module_handle(module->module, object, module->extras);
    return true;
  });
}

sl_status sl_module_of(const sl_module* module, const sl_value* object, sl_module** view,
                       sl_error** error) {
  if (view) *view = nullptr;
  if (!module || !object || !view) return misuse(error, "sl_module_of needs three pointers");
  return found_by(error, "the value is no object of the module's program", [&] {
    if (!object->value.is_object()) return false;
    const ClassRef& cls = object->value.as_object().type;
    const ClassTable& classes = *module->module->program().classes();
    ClassRef known = classes.find(classes.name_of(*cls));
    if (known.get() != cls.get()) return false;
    module->module->domain()->retain();
    DomainRef domain(module->module->domain());
    join_domain(&domain, object);
    *view = module_handle(module->module, object->value, module->extras);
    return true;
  });
}

sl_value* sl_module_value(const sl_module* module) {
  sl_value* value = nullptr;
  if (module) guarded(nullptr, [&] { value = value_of(*module->module, module->object); });
  return value;
}

sl_status sl_module_list(const sl_module* module, sl_listing what, int recurse, sl_value** dict,
                         sl_error** error) {
  if (dict) *dict = nullptr;
  if (!module || !dict) return misuse(error, "sl_module_list needs a module and a place");
  int wanted;  // C checks no enum
  std::memcpy(&wanted, &what, sizeof wanted);
  if (wanted < SL_PARAMETERS || wanted > SL_MODULES) return misuse(error, "no such listing");
  if (memory::in_callback()) return misuse(error, kInCallback);
  return guarded(error, [&] {
    module->module->restore();
    Turn turn;
    turn.look(module->module->domain(), false);
    Walk walk(module->module.get());
    Ref<Dict> found = Dict::make();
    auto is_wanted = [&](const ClassType& cls, size_t slot, const Value& held) {
      if (wanted == SL_ATTRIBUTES) return true;
      if (wanted == SL_MODULES) return walk.is_module(held);
      Role role = wanted == SL_PARAMETERS ? Role::Parameter : Role::Buffer;
      return held.is_tensor() && walk.role(cls, slot, held) == role;
    };
    walk.attributes(
        module->object, recurse != 0,
        [&](const std::string& name, const ClassType& cls, size_t slot, const Value& held) {
          if (is_wanted(cls, slot, held)) found->set(Value(name), held);
        });
    *dict = value_of(*module->module, Value(std::move(found)));
  });
}

// ---- whole modules

sl_status sl_module_train(sl_module* module, int on, sl_error** error) {
  if (!module) return misuse(error, "sl_module_train needs a module");
  if (memory::in_callback()) return misuse(error, kInCallback);
  return guarded(error, [&] {
    module->module->restore();
    Turn turn;
    turn.look(module->module->domain(), true);
    Walk walk(module->module.get());
    auto set = [&](const Value& object) {
      Place place;
      bool has = find_place(object, "training", &place) && place.value().is_bool();
      if (has) place.value() = Value(on != 0);
    };
    set(module->object);
    walk.attributes(module->object, true,
                    [&](const std::string&, const ClassType&, size_t, const Value& held) {
                      if (walk.is_module(held)) set(held);
                    });
  });
}

namespace {

// Gives a tensor the storage and the type of another tensor of the same sizes.
void become(const Tensor& t, const Tensor& other) {
  TensorImpl* impl = t.impl();
  other.storage()->retain();
  std::exchange(impl->storage, other.storage())->release();
  impl->dtype = other.dtype();
  // The strides may differ, too.
  impl->set_geometry(other.sizes(), other.strides());
  impl->offset = other.storage_offset();
}

}  // namespace

sl_status sl_module_to(sl_module* module, sl_dtype dtype, sl_error** error) {
  if (!module) return misuse(error, "sl_module_to needs a module");
  if (memory::in_callback()) return misuse(error, kInCallback);
  return found_by(error, "a module can only be of a floating or complex type", [&] {
    int number;
    std::memcpy(&number, &dtype, sizeof number);
    if (!is_scalar_type(number)) return false;
    const ScalarType type = ScalarType(number);
    if (!is_floating(type) && !is_complex(type)) return false;
    module->module->restore();
    Turn turn;
    turn.take(module->module->domain(), Effect::Reshapes);
    Walk walk(module->module.get());
    std::vector<std::pair<Tensor, Tensor>> pairs;  // all are converted before one is changed
    std::unordered_set<TensorImpl*> seen;
    auto convert = [&](const Tensor& t) {
      const bool other =
          t.dtype() != type && !t.quantizer() && autograd::is_differentiable(t.dtype());
      if (!other || !seen.insert(t.impl()).second) return;
      Tensor made = Tensor::empty_like(t, type);
      copy_elements(made, t);
      pairs.emplace_back(t, std::move(made));
    };
    walk.attributes(module->object, true,
                    [&](const std::string&, const ClassType& cls, size_t slot, const Value& held) {
                      if (!held.is_tensor() || walk.role(cls, slot, held) == Role::Other) return;
                      convert(held.as_tensor());
                      const Tensor grad = autograd::gradient_of(held.as_tensor());
                      if (grad.defined()) convert(grad);
                    });
    for (const auto& [t, made] : pairs) become(t, made);
    return true;
  });
}

sl_status sl_module_clone(const sl_module* module, sl_module** copy, sl_error** error) {
  if (copy) *copy = nullptr;
  if (!module || !copy) return misuse(error, "sl_module_clone needs a module and a place");
  if (memory::in_callback()) return misuse(error, kInCallback);
  return guarded(error, [&] {
    std::shared_ptr<Module> made = module->module->clone(module->object);
    *copy = module_handle(made, made->root(), module->extras);
  });
}

namespace {

// Prints a module: its parameters, buffers, attributes, methods and submodules.
class Description {
 public:
  explicit Description(Module* module) : module_(*module), walk_(module) {}

  std::string text(const Value& object) {
    write(object, 0);
    return std::move(out_);
  }

 private:
  void line(int depth, const std::string& text) {
    out_.append(size_t(2 * depth), ' ').append(text).append(1, '\n');
    if (out_.size() > size_t(kMostText) / 2) raise(ErrorKind::MemoryError, "the text is too long");
  }
  static std::string shape_text(const Tensor& t) {
    return concat("Tensor ", dtype_name(t.dtype()), " ", to_string(t.sizes()));
  }
  static std::string held_text(const Value& v) {
    if (v.is_tensor()) return shape_text(v.as_tensor());
    std::string text = v.is_string() ? "'" + to_text(v) + "'" : to_text(v);
    return text.size() <= 200 ? text : text.substr(0, 200) + "...";
  }

  void write(const Value& object, int depth) {
    if (depth > 2 * 200) raise(ErrorKind::RuntimeError, "the module is nested too deeply");
    const ClassType& cls = *object.as_object().type;
    line(depth, "module " + module_.program().classes()->name_of(cls) + " {");
    section("parameters", object, depth, [&](size_t k, const Value& held) {
      return held.is_tensor() && walk_.role(cls, k, held) == Role::Parameter;
    });
    section("buffers", object, depth, [&](size_t k, const Value& held) {
      return held.is_tensor() && walk_.role(cls, k, held) == Role::Buffer;
    });
    section("attributes", object, depth, [&](size_t k, const Value& held) {
      return !walk_.is_module(held) && walk_.role(cls, k, held) == Role::Other;
    });
    line(depth + 1, "methods {");
    for (const std::string& name : module_.method_names(cls)) {
      line(depth + 2, schema_text(name, *module_.method(cls, name), 1));
    }
    line(depth + 1, "}");
    line(depth + 1, "submodules {");
    walk_.attributes(object, false,
                     [&](const std::string& name, const ClassType&, size_t, const Value& held) {
                       if (!walk_.is_module(held)) return;
                       line(depth + 2, name + ":");
                       write(held, depth + 3);
                     });
    line(depth + 1, "}");
    line(depth, "}");
  }

  template <class Wanted>
  void section(const char* title, const Value& object, int depth, Wanted&& wanted) {
    line(depth + 1, std::string(title) + " {");
    walk_.attributes(object, false,
                     [&](const std::string& name, const ClassType&, size_t k, const Value& held) {
                       if (wanted(k, held)) line(depth + 2, name + " = " + held_text(held));
                     });
    line(depth + 1, "}");
  }

  Module& module_;
  Walk walk_;
  std::string out_;
};

}  // namespace

sl_status sl_module_text(const sl_module* module, char** text, size_t* size) {
  if (text) *text = nullptr;
  if (size) *size = 0;
  if (!module || !text || memory::in_callback()) return SL_INVALID_ARGUMENT;
  return guarded(nullptr, [&] {
    module->module->complete();
    module->module->restore();
    Turn turn;
    turn.take(module->module->domain(), Effect::Reads);
    memory::LimitScope bound(kMostText);
    give_text(Description(module->module.get()).text(module->object), text, size);
  });
}
