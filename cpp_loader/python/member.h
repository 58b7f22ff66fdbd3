// Access to attributes of Python classes with __slots__, without looking them up by name.
//
// Where Python has no GIL, other threads read and replace these attributes meanwhile. So values are
// replaced as Python itself does it, under the lock of their object, and read with a reference.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

namespace scriptlang::python {

namespace nb = nanobind;

#if defined(NB_FREE_THREADED)
using Borrowed = nb::object;
#else
using Borrowed = nb::handle;
#endif

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

  // The value. Raises AttributeError if none is set.
  Borrowed get(nb::handle object) const {
#if defined(NB_FREE_THREADED)
    nb::ft_object_guard guard(object);
    return nb::borrow(value_in(object));
#else
    return value_in(object);
#endif
  }
  // The value; an invalid object if none is set.
  nb::object find(nb::handle object) const {
    nb::ft_object_guard guard(object);
    return nb::borrow(load(place(object.ptr())));
  }
  // Whether it is this value.
  bool is(nb::handle object, nb::handle value) const { return value_in(object) == value.ptr(); }
  // Sets the value if none is set.
  void set_first(PyObject* object, nb::object value) const {
    nb::ft_object_guard guard(object);
    if (!load(place(object))) store(&place(object), value.release().ptr());
  }
  void set(PyObject* object, nb::object value) const {
    PyObject* old;
    {
      nb::ft_object_guard guard(object);
      old = load(place(object));
      store(&place(object), value.release().ptr());
    }
    Py_XDECREF(old);
  }

 private:
  PyObject* value_in(nb::handle object) const {
    PyObject* value = load(place(object.ptr()));
    if (!value) throw nb::attribute_error("a tensor that was not made whole");
    return value;
  }
#if defined(NB_FREE_THREADED)
  static PyObject* load(PyObject* const& from) { return __atomic_load_n(&from, __ATOMIC_ACQUIRE); }
  static void store(PyObject** to, PyObject* value) {
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
  }
#else
  static PyObject* load(PyObject* from) { return from; }
  static void store(PyObject** to, PyObject* value) { *to = value; }
#endif
  PyObject*& place(PyObject* object) const {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset_);
  }
  Py_ssize_t offset_;
};

}  // namespace scriptlang::python
