#include "entry.h"

#include "convert.h"

namespace scriptlang::python {

Entry::Entry(const std::string& kinds, nb::list classes, nb::list defaults, size_t positional)
    : kinds_(kinds), classes_(classes), defaults_(defaults), positional_(positional) {
  if (classes.size() != kinds.size() || defaults.size() != kinds.size() ||
      positional > kinds.size()) {
    throw nb::value_error("an entry has one kind, class and default for each argument");
  }
}

bool Entry::fits(char kind, nb::handle cls, nb::handle value) {
  PyObject* p = value.ptr();
  switch (kind) {
    case kOptionalTensor: return p == Py_None;
    case kFloat: return PyFloat_CheckExact(p);
    case kBool: return PyBool_Check(p);
    case kString: return PyUnicode_CheckExact(p);
    case kNumber: return PyFloat_CheckExact(p);
    case kObject: return is_object_of(value, cls);
    default: return false;
  }
}

// One argument that was given; false where its class alone does not say that it fits.
bool Entry::take_one(char kind, nb::handle cls, nb::handle value, ToNative& convert, Value* to) {
  if (kind == kTensor || kind == kOptionalTensor) {
    if (is_tensor(value)) {
      *to = convert.tensor(value);
      return true;
    }
    if (is_plain_array(value)) {
      *to = convert.array(value);
      return to->tag() == Tag::Tensor;
    }
  } else if ((kind == kInt || kind == kNumber) && PyLong_CheckExact(value.ptr())) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    *to = Value(int64_t(number));
    return overflow == 0;
  }
  if (!fits(kind, cls, value)) return false;
  *to = kind == kObject ? convert.object(value) : convert(value);
  return true;
}

bool Entry::take(const Given& given, std::vector<Value>& values) const {
  size_t count = kinds_.size(), by_place = given.count();
  if (by_place > positional_) return false;
  values.resize(count);
  ToNative convert;
  for (size_t k = 0; k < count; ++k) {
    if (k < by_place) {
      nb::handle cls = PyList_GET_ITEM(classes_.ptr(), k);
      if (!take_one(kinds_[k], cls, given[k], convert, &values[k])) return false;
    } else {
      nb::handle value = PyList_GET_ITEM(defaults_.ptr(), k);
      if (value.ptr() == Py_Ellipsis) return false;
      values[k] = convert(value);
    }
  }
  return true;
}

int Entry::traverse(visitproc visit, void* arg) const {
  Py_VISIT(classes_.ptr());
  Py_VISIT(defaults_.ptr());
  return 0;
}

}  // namespace scriptlang::python
