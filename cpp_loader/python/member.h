// Access to attributes of Python classes with __slots__, without looking them up by name.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

namespace scriptlang::python {

namespace nb = nanobind;

// The offset of such an attribute in an instance.
class Member {
 public:
  Member(const nb::object& cls, const char* name) {
    nb::object found = cls.attr(name);
    if (Py_TYPE(found.ptr()) != &PyMemberDescr_Type) {
      throw nb::type_error("a class of the package has no slot where the engine expects one");
    }
    // Python tells no offset that every version of it has at one place: set in a bare instance, the
    // value shows where it is.
    nb::object instance =
        nb::steal(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(cls.ptr()), 0));
    if (!instance.is_valid()) throw nb::python_error();
    nb::list value;
    found.attr("__set__")(instance, value);
    const Py_ssize_t end = nb::cast<Py_ssize_t>(cls.attr("__basicsize__"));
    offset_ = Py_ssize_t(sizeof(PyObject));
    while (offset_ < end && place(instance.ptr()) != value.ptr()) {
      offset_ += Py_ssize_t(sizeof(PyObject*));
    }
    if (offset_ >= end) throw nb::type_error("a class of the package keeps a slot elsewhere");
  }

  // The value, borrowed. Raises AttributeError if none is set.
  nb::handle get(nb::handle object) const {
    PyObject* value = place(object.ptr());
    if (!value) throw nb::attribute_error("a tensor that was not made whole");
    return value;
  }
  // Sets the value if none is set.
  void set_first(PyObject* object, nb::object value) const {
    if (!place(object)) set(object, std::move(value));
  }
  void set(PyObject* object, nb::object value) const {
    PyObject* old = std::exchange(place(object), value.release().ptr());
    Py_XDECREF(old);
  }

 private:
  PyObject*& place(PyObject* object) const {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset_);
  }
  Py_ssize_t offset_;
};

}  // namespace scriptlang::python
