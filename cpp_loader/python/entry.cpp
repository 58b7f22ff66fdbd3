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
    case kOptionalTensor:
      if (p == Py_None) return true;
      [[fallthrough]];
    case kTensor: return is_tensor(value) || is_plain_array(value);
    case kInt: return PyLong_CheckExact(p);
    case kFloat: return PyFloat_CheckExact(p);
    case kBool: return PyBool_Check(p);
    case kString: return PyUnicode_CheckExact(p);
    case kNumber: return PyLong_CheckExact(p) || PyFloat_CheckExact(p);
    case kObject: return is_object_of(value, cls);
    default: return false;
  }
}

bool Entry::take(nb::tuple arguments, std::vector<Value>& values) const {
  size_t given = arguments.size(), count = kinds_.size();
  if (given > positional_) return false;
  values.reserve(count);
  ToNative convert;
  for (size_t k = 0; k < count; ++k) {
    nb::handle value = k < given ? nb::handle(PyTuple_GET_ITEM(arguments.ptr(), k))
                                 : nb::handle(PyList_GET_ITEM(defaults_.ptr(), k));
    if (k >= given) {
      if (value.ptr() == Py_Ellipsis) return false;
    } else if (!fits(kinds_[k], PyList_GET_ITEM(classes_.ptr(), k), value)) {
      return false;
    } else if (PyLong_CheckExact(value.ptr())) {
      int overflow = 0;
      long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
      if (overflow) return false;
      values.push_back(Value(int64_t(number)));
      continue;
    } else if (!is_tensor(value) && is_plain_array(value)) {
      Value array = convert.array(value);
      if (array.tag() != Tag::Tensor) return false;
      values.push_back(std::move(array));
      continue;
    }
    values.push_back(convert(value));
  }
  return true;
}

int Entry::traverse(visitproc visit, void* arg) const {
  Py_VISIT(classes_.ptr());
  Py_VISIT(defaults_.ptr());
  return 0;
}

}  // namespace scriptlang::python
