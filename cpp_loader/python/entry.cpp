// The fast path of calls: converts arguments whose Python types already fit the schema.
#include "entry.h"

#include "arrays.h"
#include "convert.h"
#include "names.h"
#include "operator_kernel.h"
#include "program/program.h"
#include "values/quantizer.h"

namespace scriptlang::python {

Entry::Entry(nb::list arguments, size_t positional) : told_(arguments), positional_(positional) {
  for (nb::handle argument : arguments) {
    nb::tuple parts = nb::cast<nb::tuple>(argument);
    if (parts.size() != 3) throw nb::value_error("an argument is a name, a kind and a default");
    auto at = [&](Py_ssize_t k) { return nb::handle(PyTuple_GET_ITEM(parts.ptr(), k)); };
    arguments_.push_back({at(0), at(2), kind_of(at(1))});
  }
  if (positional > arguments_.size()) throw nb::value_error("more places than arguments");
}

Entry::Kind Entry::kind_of(nb::handle told) {
  if (PyUnicode_Check(told.ptr())) {
    return {char(PyUnicode_READ_CHAR(told.ptr(), 0)), nb::handle(), {}};
  }
  nb::tuple parts = nb::cast<nb::tuple>(told);
  Kind kind = kind_of(parts[0]);
  for (size_t k = 1; k < parts.size(); ++k) {
    nb::handle part = PyTuple_GET_ITEM(parts.ptr(), Py_ssize_t(k));
    if (kind.letter == 'o') kind.cls = part;
    else kind.parts.push_back(kind_of(part));
  }
  size_t wanted = kind.letter == 'D' ? 2 : kind.letter == 'L' || kind.letter == '?' ? 1 : 0;
  if (kind.parts.size() < wanted) throw nb::value_error("a kind lacks its parts");
  return kind;
}

// Whether a value is of a subclass of Tensor that adds nothing to it, as Parameter is.
static bool is_plain_parameter(nb::handle value) {
  return is_strided(value) && !is_quantized(dtype_from_python(known().m_dtype.get(value)));
}

// Converts one value. Returns false if its class does not show that it fits.
bool Entry::take_one(const Kind& kind, nb::handle value, ToNative& convert, Value* to) {
  PyObject* p = value.ptr();
  switch (kind.letter) {
    case 'T':
      if (is_tensor(value) || (convert.takes_any() && is_plain_parameter(value))) {
        if (!convert.takes_any() && may_need_gradient(value)) return false;
        *to = convert.tensor(value);
        return true;
      }
      if (!is_plain_array(value)) return false;
      *to = convert.array(value);
      return to->tag() == Tag::Tensor;
    case 'n':
    case 'f':
      if (PyFloat_CheckExact(p)) {
        *to = Value(PyFloat_AS_DOUBLE(p));
        return true;
      }
      [[fallthrough]];
    case 'i': {
      if (!PyLong_CheckExact(p)) return false;
      int overflow = 0;
      long long number = PyLong_AsLongLongAndOverflow(p, &overflow);
      *to = kind.letter == 'f' ? Value(double(number)) : Value(int64_t(number));
      return overflow == 0;
    }
    case 'b':
      if (!PyBool_Check(p)) return false;
      *to = Value(p == Py_True);
      return true;
    case 's':
      if (!PyUnicode_CheckExact(p)) return false;
      *to = convert(value);
      return true;
    case 'c':
      if (!PyComplex_CheckExact(p)) return false;
      *to = convert(value);
      return true;
    case 'o':
      if (!is_object_of(value, kind.cls)) return false;
      *to = convert.object(value);
      return true;
    case '?':
      if (p != Py_None) return take_one(kind.parts[0], value, convert, to);
      *to = Value();
      return true;
    case 'L': return take_list(kind, value, convert, to);
    case 'D': return take_dict(kind, value, convert, to);
    case 'U': return take_tuple(kind, value, convert, to);
    default: return false;
  }
}

// An element of a list; none if another thread has removed it meanwhile.
static nb::object item_of(PyObject* list, Py_ssize_t k) {
#if defined(NB_FREE_THREADED)
  nb::object item = nb::steal(PyList_GetItemRef(list, k));
  if (!item.is_valid()) PyErr_Clear();
  return item;
#else
  return nb::borrow(PyList_GET_ITEM(list, k));
#endif
}

bool Entry::take_list(const Kind& kind, nb::handle value, ToNative& convert, Value* to) {
  if (!PyList_CheckExact(value.ptr())) return false;
  Ref<List> list = List::make();
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(value.ptr()); ++k) {
    nb::object item = item_of(value.ptr(), k);
    Value taken;
    if (!item.is_valid()) return false;
    if (!take_one(kind.parts[0], item, convert, &taken)) return false;
    list->push(std::move(taken));
  }
  *to = std::move(list);
  return true;
}

bool Entry::take_dict(const Kind& kind, nb::handle value, ToNative& convert, Value* to) {
  if (!PyDict_CheckExact(value.ptr())) return false;
  Ref<Dict> dict = Dict::make();
#if defined(NB_FREE_THREADED)
  nb::object copy = nb::steal(PyDict_Copy(value.ptr()));  // nobody else can change it
  if (!copy.is_valid()) throw nb::python_error();
  value = copy;
#endif
  for (auto [key, item] : nb::borrow<nb::dict>(value)) {
    Value taken_key, taken;
    if (!take_one(kind.parts[0], key, convert, &taken_key) ||
        !take_one(kind.parts[1], item, convert, &taken)) {
      return false;
    }
    dict->set(taken_key, std::move(taken));
  }
  *to = std::move(dict);
  return true;
}

bool Entry::take_tuple(const Kind& kind, nb::handle value, ToNative& convert, Value* to) {
  size_t count = kind.parts.size();
  if (!PyTuple_CheckExact(value.ptr()) || size_t(PyTuple_GET_SIZE(value.ptr())) != count) {
    return false;
  }
  std::vector<Value> items(count);
  for (size_t k = 0; k < count; ++k) {
    nb::handle item = PyTuple_GET_ITEM(value.ptr(), Py_ssize_t(k));
    if (!take_one(kind.parts[k], item, convert, &items[k])) return false;
  }
  *to = Tuple::make(std::move(items));
  return true;
}

bool Entry::take(const Given& given, std::vector<Value>& values, ToNative& convert,
                 Passed* passed) const {
  size_t count = arguments_.size(), by_place = given.count();
  Py_ssize_t named = given.by_name ? PyDict_GET_SIZE(given.by_name) : 0;
  if (by_place > positional_) return false;
  values.resize(count);
  for (size_t k = 0; k < count; ++k) {
    const Argument& a = arguments_[k];
    nb::handle value = k < by_place ? given[k] : nb::handle();
    if (named > 0 && !value.is_valid()) {
      value = PyDict_GetItemWithError(given.by_name, a.name.ptr());
      named -= value.is_valid();
    }
    if (value.is_valid()) {
      const bool is_argument = a.kind.letter == 'T';
      convert.note(is_argument ? nullptr : passed);
      if (!take_one(a.kind, value, convert, &values[k])) return false;
      if (is_argument && !is_plain_array(value) && shares_memory(values[k].as_tensor(), value)) {
        passed->add_argument(value.ptr(), values[k].as_tensor().impl());
      }
    } else {
      if (a.fallback.ptr() == Py_Ellipsis) return false;
      values[k] = convert(a.fallback);
    }
  }
  return named == 0;
}

int Entry::traverse(visitproc visit, void* arg) const {
  Py_VISIT(told_.ptr());
  return 0;
}

}  // namespace scriptlang::python
