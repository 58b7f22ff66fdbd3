// Converts instances of script classes, which keep their identity, and their classes.
#include <nanobind/stl/string.h>

#include "convert.h"
#include "gil.h"
#include "names.h"
#include "values/type.h"

namespace scriptlang::python {

bool is_object_of(nb::handle value, nb::handle cls) {
  return value.type().is(known().script_object) && known().m_type.is(value, cls);
}

// It is weak, so that types of the engine and types of Python do not keep each other alive.
std::shared_ptr<void> host_of(nb::handle type) {
  return std::shared_ptr<void>(known().weak_reference(type).release().ptr(), [](void* p) {
    if (!Py_IsInitialized()) return;
    with_python([p] { Py_DECREF(static_cast<PyObject*>(p)); });
  });
}

// The prefix of classes in PyTorch's C++ library, whose objects operators make.
constexpr char kCustomClasses[] = "__torch__.torch.classes.";

nb::object python_type(const std::shared_ptr<void>& host, const std::string& name) {
  nb::object type = nb::none();
  if (!host && name.compare(0, sizeof kCustomClasses - 1, kCustomClasses) == 0) {
    return known().custom_class(name);
  }
  if (host) type = nb::handle(static_cast<PyObject*>(host.get()))();
  if (type.is_none()) {
    raise(ErrorKind::TypeError, "the class ", name, " is not known to Python here");
  }
  return type;
}

nb::object type_of(const ClassType& cls) { return python_type(cls.host, cls.name); }

void set_class_of(nb::handle type, const ClassRef& cls) {
  cls->host = host_of(type);
  known().classes[type] =
      nb::capsule(new ClassRef(cls), [](void* p) noexcept { delete static_cast<ClassRef*>(p); });
}

ClassRef class_of(nb::handle type) {
  auto find = [&] { return nb::object(known().classes.attr("get")(type)); };
  nb::object held = find();
  if (!held.is_none()) return *static_cast<ClassRef*>(nb::cast<nb::capsule>(held).data());
  Registry lock;
  held = find();
  if (!held.is_none()) return *static_cast<ClassRef*>(nb::cast<nb::capsule>(held).data());
  ClassRef cls = ClassType::make(nb::cast<std::string>(nb::str(type.attr("name"))));
  if (nb::hasattr(type, "attributes")) {
    for (nb::handle attribute : type.attr("attributes")) {
      cls->attributes.push_back(nb::cast<std::string>(nb::str(attribute.attr("name"))));
    }
  }
  set_class_of(type, cls);
  return cls;
}

// The Python instance of an object, which is made if it does not exist.
nb::object ToPython::instance_of(const Ref<Object>& object) {
  nb::object key = nb::steal(PyLong_FromVoidPtr(object.get()));
  nb::object found = known().instances.attr("get")(key);
  if (!found.is_none()) return found;
  Registry lock;
  found = known().instances.attr("get")(key);
  if (!found.is_none()) return found;
  if (!domain_) domain_ = DomainRef(Domain::make());
  nb::object type = python_type(object->type->host, object->type->name);
  nb::object made = known().script_object(type, nb::cast(NativeObject{object, domain_}));
  known().instances[key] = made;
  return made;
}

void wait_until_whole(const NativeObject& o) {
  if (!o.is_whole() && !Turn::is_inside()) Adoption wait;
}

Value& slot_of(const NativeObject& o, int64_t index) {
  int64_t size = int64_t(o.object->slots.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) throw nb::index_error("slot out of range");
  return o.object->slots[size_t(index)];
}

Value& slot_of(const NativeObject& o, const std::string& name) {
  int64_t slot = o.object->type->slot(name);
  if (slot < 0 || slot >= int64_t(o.object->slots.size())) {
    throw nb::attribute_error((o.object->type->name + " has no attribute '" + name + "'").c_str());
  }
  return o.object->slots[size_t(slot)];
}

void ToNative::add(const DomainRef& domain) {
  if (!domain_) domain_ = domain;
  else join_domains(domain_, domain);
}

Value ToNative::object(nb::handle value, int depth) {
  const Borrowed slots = known().m_slots.get(value);
  if (nb::isinstance<NativeObject>(slots)) {
    const NativeObject& there = nb::cast<NativeObject&>(slots);
    if (there.is_whole()) {
      Value found(there.object);
      if (!domain_) domain_ = there.domain;
      else add(DomainRef(there.domain));  // a copy, since other threads may run meanwhile
      return found;
    }
  }
  Adoption lock;  // if another thread was filling it, that has succeeded or failed now
  return adopt(value, depth);
}

Value ToNative::adopt(nb::handle value, int depth) {
  nb::object slots = nb::borrow(known().m_slots.get(value));
  if (nb::isinstance<NativeObject>(slots)) {
    const NativeObject& there = nb::cast<NativeObject&>(slots);
    Value found(there.object);
    add(DomainRef(there.domain));
    return found;
  }
  if (!domain_) domain_ = DomainRef(Domain::make());
  ClassRef cls = class_of(known().m_type.get(value));
  Ref<Object> made = Object::make(cls);
  nb::list old = nb::cast<nb::list>(slots);
  adopted_.push_back(old);
  made->slots.resize(old.size());
  // `slots` is set before the values are converted, since an object may contain itself.
  nb::object fresh = nb::cast(NativeObject{made, domain_, false});
  value.attr("slots") = fresh;
  known().instances[nb::steal(PyLong_FromVoidPtr(made.get()))] = value;
  ++adopting_;
  try {
    for (size_t k = 0; k < old.size(); ++k) made->slots[k] = (*this)(old[k], depth + 1);
    NativeObject& there = nb::cast<NativeObject&>(fresh);
    for (size_t k = 0; k < old.size(); ++k) there.remember(k, old[k]);
    there.set_whole();
  } catch (...) {
    --adopting_;
    value.attr("slots") = old;
    throw;
  }
  --adopting_;
  return made;
}

}  // namespace scriptlang::python
