#include "convert.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "type.h"

namespace scriptlang::python {

namespace {

// What is looked up in the Python package, once.
struct Names {
  nb::object tensor, storage, script_object, device, enum_value, future, by_code;
  nb::object weak_reference;
  nb::object instances;  // WeakValueDictionary: address of an Object -> ScriptObject
  nb::object classes;    // WeakKeyDictionary: class type -> capsule of its ClassRef
};
Names* names = nullptr;

Names& known() {
  if (names) return *names;
  nb::module_ tensor = nb::module_::import_("scriptlang.tensors");
  nb::module_ objects = nb::module_::import_("scriptlang.objects");
  nb::module_ dtypes = nb::module_::import_("scriptlang.dtypes");
  nb::module_ weakref = nb::module_::import_("weakref");
  names = new Names{tensor.attr("Tensor"),   tensor.attr("Storage"),  objects.attr("ScriptObject"),
                    objects.attr("Device"),  objects.attr("EnumValue"), objects.attr("Future"),
                    dtypes.attr("by_code"),
                    weakref.attr("ref"), weakref.attr("WeakValueDictionary")(),
                    weakref.attr("WeakKeyDictionary")()};
  return *names;
}

bool is_a(nb::handle value, const nb::object& type) {
  return value.type().is(type) || PyObject_IsInstance(value.ptr(), type.ptr()) == 1;
}

int64_t int_of(nb::handle value) {
  long long number = PyLong_AsLongLong(value.ptr());
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

std::vector<int64_t> ints_of(nb::handle tuple) {
  std::vector<int64_t> values;
  Py_ssize_t n = PyTuple_Size(tuple.ptr());
  if (n < 0) throw nb::python_error();
  for (Py_ssize_t k = 0; k < n; ++k) values.push_back(int_of(PyTuple_GET_ITEM(tuple.ptr(), k)));
  return values;
}

nb::object tuple_from(IntSpan values) {
  PyObject* tuple = PyTuple_New(values.size);
  if (!tuple) throw nb::python_error();
  for (int64_t k = 0; k < values.size; ++k) {
    PyTuple_SET_ITEM(tuple, k, PyLong_FromLongLong(values[k]));
  }
  return nb::steal(tuple);
}

// ---- tensors

// A Python Storage that an engine Storage borrows from.
struct Loan {
  Py_buffer view;
  PyObject* storage;
};

void end_loan(void* user) {
  Loan* loan = static_cast<Loan*>(user);
  if (!Py_IsInitialized()) return;  // the process ends: its memory goes anyway
  nb::gil_scoped_acquire gil;
  PyBuffer_Release(&loan->view);
  Py_DECREF(loan->storage);
  delete loan;
}

// Memory that Python may not write is copied: an operator that works in place would crash.
Storage* lend(Loan* loan) {
  if (!loan->view.readonly) {
    return Storage::borrow(loan->view.buf, loan->view.len, end_loan, loan);
  }
  Storage* copy = Storage::allocate(loan->view.len);
  if (loan->view.len) std::memcpy(copy->data(), loan->view.buf, size_t(loan->view.len));
  end_loan(loan);
  return copy;
}

}  // namespace

// The two conversion points of tensors.

static Value tensor_from_python(nb::handle value) {
  nb::object storage = value.attr("storage");
  auto loan = std::make_unique<Loan>();
  if (PyObject_GetBuffer(storage.attr("data").ptr(), &loan->view, PyBUF_SIMPLE) != 0) {
    throw nb::python_error();
  }
  loan->storage = storage.inc_ref().ptr();
  Storage* borrowed = lend(loan.release());
  struct Release {
    Storage* s;
    ~Release() { s->release(); }
  } release{borrowed};
  ScalarType dtype = ScalarType(int_of(value.attr("dtype").attr("code")));
  Tensor t = Tensor::checked_view(borrowed, dtype, ints_of(value.attr("_size")),
                                  ints_of(value.attr("_stride")), int_of(value.attr("_offset")));
  t.impl()->requires_grad = PyObject_IsTrue(value.attr("requires_grad").ptr()) == 1;
  return t;
}

nb::object ToPython::storage_of(Storage* storage) {
  auto seen = storages_.find(storage);
  if (seen != storages_.end()) return seen->second;
  nb::object made;
  if (Loan* loan = static_cast<Loan*>(storage->lender(end_loan))) {
    made = nb::borrow(loan->storage);
  } else {
    storage->retain();
    nb::capsule owner(storage, [](void* s) noexcept { static_cast<Storage*>(s)->release(); });
    size_t size = size_t(storage->nbytes());
    nb::ndarray<nb::numpy, uint8_t> bytes(storage->data(), {size}, owner);
    made = known().storage(nb::cast(bytes));
  }
  storages_.emplace(storage, made);
  return made;
}

nb::object ToPython::tensor_of(const Tensor& t) {
  return known().tensor(storage_of(t.storage()), known().by_code(int64_t(t.dtype())),
                        tuple_from(t.sizes()), tuple_from(t.strides()), t.storage_offset(),
                        t.requires_grad());
}

// ---- classes and instances

// A weak reference, so that the engine's types do not keep Python's alive, nor the other way.
std::shared_ptr<void> host_of(nb::handle type) {
  return std::shared_ptr<void>(known().weak_reference(type).release().ptr(), [](void* p) {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire gil;
    Py_DECREF(static_cast<PyObject*>(p));
  });
}

static nb::object python_type(const std::shared_ptr<void>& host, const std::string& name) {
  nb::object type = nb::none();
  if (host) type = nb::handle(static_cast<PyObject*>(host.get()))();
  if (type.is_none()) {
    raise(ErrorKind::TypeError, "the class ", name, " is not known to Python here");
  }
  return type;
}

ClassRef class_of(nb::handle type) {
  nb::object held = known().classes.attr("get")(type);
  if (!held.is_none()) return *static_cast<ClassRef*>(nb::cast<nb::capsule>(held).data());
  ClassRef cls = ClassType::make(nb::cast<std::string>(nb::str(type.attr("name"))));
  if (nb::hasattr(type, "attributes")) {
    for (nb::handle attribute : type.attr("attributes")) {
      cls->attributes.push_back(nb::cast<std::string>(nb::str(attribute.attr("name"))));
    }
  }
  cls->host = host_of(type);
  known().classes[type] = nb::capsule(new ClassRef(cls), [](void* p) noexcept {
    delete static_cast<ClassRef*>(p);
  });
  return cls;
}

nb::object instance_of(const Ref<Object>& object) {
  nb::object key = nb::steal(PyLong_FromVoidPtr(object.get()));
  nb::object found = known().instances.attr("get")(key);
  if (!found.is_none()) return found;
  nb::object type = python_type(object->type->host, object->type->name);
  nb::object made = known().script_object(type, nb::cast(NativeObject{object}));
  known().instances[key] = made;
  return made;
}

Value ToNative::object_of(nb::handle value, int depth) {
  nb::object slots = value.attr("slots");
  if (nb::isinstance<NativeObject>(slots)) return nb::cast<NativeObject&>(slots).object;
  nb::object type = value.attr("type");
  Ref<Object> made = Object::make(class_of(type));
  nb::list old = nb::cast<nb::list>(slots);
  made->slots.resize(old.size());
  // In place first: an object may hold itself.
  value.attr("slots") = nb::cast(NativeObject{made});
  known().instances[nb::steal(PyLong_FromVoidPtr(made.get()))] = value;
  try {
    for (size_t k = 0; k < old.size(); ++k) made->slots[k] = (*this)(old[k], depth + 1);
  } catch (...) {
    value.attr("slots") = old;
    throw;
  }
  return made;
}

// ---- containers

Value ToNative::list_of(nb::handle value, int depth) {
  auto seen = seen_.find(value.ptr());
  if (seen != seen_.end()) return seen->second;
  Ref<List> list = List::make();
  seen_.emplace(value.ptr(), list);
  for (nb::handle item : nb::borrow<nb::list>(value)) {
    list->items.push_back((*this)(item, depth + 1));
  }
  list->charge_growth();
  return list;
}

Value ToNative::dict_of(nb::handle value, int depth) {
  auto seen = seen_.find(value.ptr());
  if (seen != seen_.end()) return seen->second;
  Ref<Dict> dict = Dict::make();
  seen_.emplace(value.ptr(), dict);
  for (auto [k, v] : nb::borrow<nb::dict>(value)) {
    dict->set((*this)(k, depth + 1), (*this)(v, depth + 1));
  }
  return dict;
}

Value ToNative::tuple_of(nb::handle value, int depth) {
  std::vector<Value> items;
  for (nb::handle item : nb::borrow<nb::tuple>(value)) items.push_back((*this)(item, depth + 1));
  TypeRef named;
  if (nb::hasattr(value.type(), "__script_type__")) {
    nb::object type = value.type().attr("__script_type__");
    named = Type::make(TypeKind::NamedTuple, {}, nb::cast<std::string>(type.attr("name")));
    named->host = host_of(type);
  }
  return Tuple::make(std::move(items), std::move(named));
}

// ---- all kinds

Value ToNative::operator()(nb::handle value, int depth) {
  if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
  PyObject* p = value.ptr();
  if (p == Py_None) return Value();
  if (PyBool_Check(p)) return Value(p == Py_True);
  if (PyLong_Check(p)) return Value(int_of(value));
  if (PyFloat_Check(p)) return Value(PyFloat_AsDouble(p));
  if (is_a(value, known().tensor)) return tensor_from_python(value);
  if (PyUnicode_Check(p)) return Value(nb::cast<std::string>(value));
  if (PyList_Check(p)) return list_of(value, depth);
  if (PyTuple_Check(p)) return tuple_of(value, depth);
  if (PyDict_Check(p)) return dict_of(value, depth);
  if (PyComplex_Check(p)) {
    return Value(std::complex<double>(PyComplex_RealAsDouble(p), PyComplex_ImagAsDouble(p)));
  }
  if (is_a(value, known().script_object)) return object_of(value, depth);
  if (is_a(value, known().device)) {
    return Value(parse_device(nb::cast<std::string>(nb::str(value))));
  }
  if (is_a(value, known().enum_value)) {
    return Enum::make(class_of(value.attr("type")), nb::cast<std::string>(value.attr("name")),
                      (*this)(value.attr("value"), depth + 1));
  }
  if (is_a(value, known().future)) {
    Ref<Future> future = Future::make();
    future->value = (*this)(value.attr("wait")(), depth + 1);
    return future;
  }
  if (nb::isinstance<NativeObject>(value)) return nb::cast<NativeObject&>(value).object;
  raise(ErrorKind::TypeError, "a value of type '",
        nb::cast<std::string>(value.type().attr("__name__")),
        "' cannot be handed to the native engine");
}

nb::object ToPython::operator()(const Value& v, int depth) {
  if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
  auto items = [&](const std::vector<Value>& values) {
    nb::list list;
    for (const Value& item : values) list.append((*this)(item, depth + 1));
    return list;
  };
  switch (v.tag()) {
    case Tag::None: return nb::none();
    case Tag::Bool: return nb::bool_(v.as_bool());
    case Tag::Int: return nb::int_(v.as_int());
    case Tag::Double: return nb::float_(v.as_double());
    case Tag::Complex: {
      std::complex<double> c = v.as_complex();
      return nb::steal(PyComplex_FromDoubles(c.real(), c.imag()));
    }
    case Tag::String: {
      const std::string& text = v.as_string();
      return nb::steal(PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace"));
    }
    case Tag::Device: return known().device(to_string(v.as_device()));
    case Tag::Tensor: return tensor_of(v.as_tensor());
    case Tag::List: return items(v.as_list().items);
    case Tag::Tuple: {
      nb::tuple tuple(items(v.as_tuple().items));
      const TypeRef& named = v.as_tuple().named;
      if (!named || !named->host) return tuple;
      return python_type(named->host, named->name).attr("make")(tuple);
    }
    case Tag::Dict: {
      nb::dict dict;
      const Dict::Entry* entry;
      for (size_t cursor = 0; v.as_dict().next(&cursor, &entry);) {
        dict[(*this)(entry->key, depth + 1)] = (*this)(entry->value, depth + 1);
      }
      return dict;
    }
    case Tag::Object: return instance_of(Ref<Object>::share(&v.as_object()));
    case Tag::Enum: {
      const Enum& e = v.as_enum();
      nb::object type = python_type(e.type->host, e.type->name);
      return known().enum_value(type, e.name, (*this)(e.value, depth + 1));
    }
    case Tag::Future: {
      const Future& future = v.as_future();
      if (future.function) {
        raise(ErrorKind::RuntimeError, "an awaitable that was never waited for cannot be handed "
              "to Python");
      }
      if (!future.error) return known().future((*this)(future.value, depth + 1));
      const Error& e = *future.error;
      nb::object translate = nb::module_::import_("scriptlang.interpreter.native_engine")
                                 .attr("translate");
      return known().future(nb::none(), translate(error_kind_name(e.kind), e.class_name, e.message));
    }
    default:
      raise(ErrorKind::TypeError, "a ", tag_name(v.tag()), " cannot be handed to Python");
  }
}

void clear_conversions() {
  delete names;
  names = nullptr;
}

}  // namespace scriptlang::python
