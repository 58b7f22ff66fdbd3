// Converts Python values to engine values and back.
#include "convert.h"

#include <nanobind/stl/string.h>

#include "mirrors.h"
#include "names.h"
#include "stable.h"
#include "values/type.h"

namespace scriptlang::python {

// ---- containers

// A list or dict as nobody can change it while it is converted. With the GIL, it is itself that. A
// copy lives as long as `seen_`, which knows elements by their addresses.
template <class T>
T ToNative::own(nb::handle value) {
#if defined(NB_FREE_THREADED)
  nb::object copy =
      nb::steal(PyList_Check(value.ptr()) ? PyList_GetSlice(value.ptr(), 0, PY_SSIZE_T_MAX)
                                          : PyDict_Copy(value.ptr()));
  if (!copy.is_valid()) throw nb::python_error();
  owned_.push_back(copy);
  return nb::borrow<T>(copy);
#else
  return nb::borrow<T>(value);
#endif
}

Value ToNative::list_of(nb::handle value, int depth) {
  if (const Value* seen = seen_.find(value.ptr())) return *seen;
  if (mirrors_) {
    if (const Value* original = mirrors_->original_of(value)) return *original;
  }
  Ref<List> list = List::make();
  seen_.emplace(value.ptr(), list);
  if (mirrors_) mirrors_->add(list, nb::borrow(value));
  for (nb::handle item : own<nb::list>(value)) { list->push((*this)(item, depth + 1)); }
  return list;
}

Value ToNative::dict_of(nb::handle value, int depth) {
  if (const Value* seen = seen_.find(value.ptr())) return *seen;
  if (mirrors_) {
    if (const Value* original = mirrors_->original_of(value)) return *original;
  }
  Ref<Dict> dict = Dict::make();
  seen_.emplace(value.ptr(), dict);
  if (mirrors_) mirrors_->add(dict, nb::borrow(value));
  for (auto [k, v] : own<nb::dict>(value)) {
    dict->set((*this)(k, depth + 1), (*this)(v, depth + 1));
  }
  return dict;
}

Value ToNative::tuple_of(nb::handle value, int depth) {
  if (const Value* seen = seen_.find(value.ptr())) return *seen;
  std::vector<Value> items;
  for (nb::handle item : nb::borrow<nb::tuple>(value)) items.push_back((*this)(item, depth + 1));
  TypeRef named;
  if (nb::hasattr(value.type(), "__script_type__")) {
    nb::object type = value.type().attr("__script_type__");
    named = Type::make(TypeKind::NamedTuple, {}, nb::cast<std::string>(type.attr("name")));
    named->host = host_of(type);
  }
  Value made = Tuple::make(std::move(items), std::move(named));
  if (Py_REFCNT(value.ptr()) > 1) seen_.emplace(value.ptr(), made);
  return made;
}

// ---- all kinds

Value ToNative::operator()(nb::handle value, int depth) {
  if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
  PyObject* p = value.ptr();
  if (p == Py_None) return Value();
  if (PyBool_Check(p)) return Value(p == Py_True);
  if (PyLong_Check(p)) return Value(int_of(value));
  if (PyFloat_Check(p)) return Value(PyFloat_AsDouble(p));
  if (is_a(value, known().tensor)) {
    // One that is passed twice stays one: the program may change its flags. Fast calls do not ask.
    if (adopted_.empty() && !watching_) return tensor(value);
    if (const Value* seen = seen_.find(p)) return *seen;
    Tensor made = tensor(value);
    seen_.emplace(p, made);
    return made;
  }
  if (PyUnicode_Check(p)) return Value(nb::cast<std::string>(value));
  if (PyList_Check(p)) return list_of(value, depth);
  if (PyTuple_Check(p)) return tuple_of(value, depth);
  if (PyDict_Check(p)) return dict_of(value, depth);
  if (PyComplex_Check(p)) {
    return Value(std::complex<double>(PyComplex_RealAsDouble(p), PyComplex_ImagAsDouble(p)));
  }
  if (is_a(value, known().script_object)) return object(value, depth);
  if (is_a(value, known().device)) {
    return Value(parse_device(nb::cast<std::string>(nb::str(value))));
  }
  if (is_a(value, known().enum_value)) {
    return Enum::make(class_of(value.attr("type")), nb::cast<std::string>(value.attr("known_name")),
                      (*this)(value.attr("value"), depth + 1));
  }
  if (is_a(value, known().future)) {
    Ref<Future> future = Future::make();
    future->value = (*this)(value.attr("wait")(), depth + 1);
    return future;
  }
  if (nb::isinstance<NativeObject>(value)) {
    const NativeObject& there = nb::cast<NativeObject&>(value);
    Value found(there.object);
    add(DomainRef(there.domain));
    return found;
  }
  raise(ErrorKind::TypeError, "a value of type '",
        nb::cast<std::string>(value.type().attr("__name__")),
        "' cannot be handed to the native engine");
}

// ---- results

constexpr int64_t kLookEvery = 1 << 16;

// Counts values against the limit, and handles signals now and then.
void ToPython::count(size_t values) {
  left_ -= int64_t(values);
  if (left_ < 0) {
    raise(ErrorKind::LimitError, "a result has over ", most_,
          " values, and its limits allow no "
          "more; for a program you trust, load it with limits=Limits(result_values=...)");
  }
  since_look_ += int64_t(values);
  if (since_look_ < kLookEvery) return;
  since_look_ = 0;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

const nb::object* ToPython::seen(const Value& value) const { return seen_.find(value.bits()); }

void ToPython::remember(const Value& value, const nb::object& made) {
  seen_.emplace(value.bits(), made);
}

// Containers are remembered before their elements are converted, since they may contain themselves.

nb::object ToPython::list_of(const Value& v, int depth) {
  if (const nb::object* known = seen(v)) return *known;
  if (mirrors_) {
    if (const nb::object* mirror = mirrors_->mirror_of(v, *this, depth)) return *mirror;
  }
  nb::object list = nb::steal(PyList_New(0));
  if (!list.is_valid()) throw nb::python_error();
  if (mirrors_) mirrors_->add(v, list);
  else if (!v.as_list().is_alone()) remember(v, list);
  add_elements(v, list, depth);
  return list;
}

void ToPython::add_elements(const Value& v, const nb::object& made, int depth) {
  if (v.is_list()) {
    const List& values = v.as_list();
    count(values.size());
    for (const Value& item : values) {
      if (PyList_Append(made.ptr(), (*this)(item, depth + 1).ptr()) != 0) throw nb::python_error();
    }
    return;
  }
  count(v.as_dict().size());
  nb::dict dict = nb::borrow<nb::dict>(made);
  const Dict::Entry* entry;
  for (size_t cursor = 0; v.as_dict().next(&cursor, &entry);) {
    dict[(*this)(entry->key, depth + 1)] = (*this)(entry->value, depth + 1);
  }
}

nb::object ToPython::elements(const Value& v, int depth) {
  nb::object made = nb::steal(v.is_list() ? PyList_New(0) : PyDict_New());
  if (!made.is_valid()) throw nb::python_error();
  add_elements(v, made, depth);
  return made;
}

nb::object ToPython::tuple_of(const Value& v, int depth) {
  if (const nb::object* known = seen(v)) return *known;
  const Tuple& values = v.as_tuple();
  count(values.items.size());
  nb::object made = nb::steal(PyTuple_New(Py_ssize_t(values.items.size())));
  if (!made.is_valid()) throw nb::python_error();
  Py_ssize_t at = 0;
  for (const Value& item : values.items) {
    PyTuple_SET_ITEM(made.ptr(), at++, (*this)(item, depth + 1).release().ptr());
  }
  if (values.named && values.named->host) {
    made = python_type(values.named->host, values.named->name).attr("make")(made);
  }
  if (!values.is_alone()) remember(v, made);
  return made;
}

nb::object ToPython::dict_of(const Value& v, int depth) {
  wants_wrapping_ = true;
  if (const nb::object* known = seen(v)) return *known;
  if (mirrors_) {
    if (const nb::object* mirror = mirrors_->mirror_of(v, *this, depth)) return *mirror;
  }
  nb::dict dict;
  if (mirrors_) mirrors_->add(v, dict);
  else if (!v.as_dict().is_alone()) remember(v, dict);
  add_elements(v, dict, depth);
  return std::move(dict);
}

nb::object ToPython::future_of(const Value& v, int depth) {
  const Future& future = v.as_future();
  if (future.function) {
    raise(ErrorKind::RuntimeError,
          "an awaitable that was never waited for cannot be handed to "
          "Python");
  }
  if (!future.error) return known().future((*this)(future.value, depth + 1));
  const Error& e = *future.error;
  nb::object translate =
      nb::module_::import_("scriptlang.interpreter.native_engine").attr("translate");
  return known().future(nb::none(), translate(error_kind_name(e.kind), e.class_name, e.message));
}

nb::object ToPython::operator()(const Value& v, int depth) {
  if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
  switch (v.tag()) {
    case Tag::None: return nb::none();
    case Tag::Bool: return nb::bool_(v.as_bool());
    case Tag::Int: return nb::int_(v.as_int());
    case Tag::Double: return nb::float_(v.as_double());
    case Tag::Complex: {
      std::complex<double> c = v.as_complex();
      return nb::steal(PyComplex_FromDoubles(c.real(), c.imag()));
    }
    case Tag::Text:
    case Tag::String: {
      std::string_view text = v.as_string();
      return nb::steal(PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace"));
    }
    case Tag::Device: wants_wrapping_ = true; return known().device(to_string(v.as_device()));
    case Tag::Tensor: {
      if (const nb::object* known = seen(v)) return *known;
      if (passed_) {
        if (nb::handle same = passed_->find(v.as_tensor()); same.is_valid())
          return nb::borrow(same);
      }
      nb::object made = keeps_ ? same_tensor(v.as_tensor(), {}) : tensor_of(v.as_tensor());
      bool is_shared = v.as_tensor().impl()->refs.load(std::memory_order_relaxed) > 1;
      if (depth && is_shared) remember(v, made);
      return made;
    }
    case Tag::List: return list_of(v, depth);
    case Tag::Tuple: return tuple_of(v, depth);
    case Tag::Dict: return dict_of(v, depth);
    case Tag::Object:
      wants_wrapping_ = true;
      return instance_of(Ref<Object>::share(&v.as_object()));
    case Tag::Enum: {
      wants_wrapping_ = true;
      const Enum& e = v.as_enum();
      nb::object type = python_type(e.type->host, e.type->name);
      return known().enum_value(type, e.name, (*this)(e.value, depth + 1));
    }
    case Tag::Future: wants_wrapping_ = true; return future_of(v, depth);
    default: raise(ErrorKind::TypeError, "a ", tag_name(v.tag()), " cannot be handed to Python");
  }
}

}  // namespace scriptlang::python
