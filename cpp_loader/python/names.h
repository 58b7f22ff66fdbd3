// The objects of the Python package that the extension uses, looked up once, and functions that
// read attributes of Python objects with them.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>

#include "member.h"
#include "values/dtype.h"

namespace scriptlang::python {

namespace nb = nanobind;

inline nb::object interned(const char* text) { return nb::steal(PyUnicode_InternFromString(text)); }

// The objects of the Python package.
struct Names {
  nb::object tensor, storage, script_object, device, enum_value, future, by_code, dtype;
  nb::object quantized_tensor, quantizer, channel_quantizer, custom_class;
  nb::object weak_reference;
  nb::object instances;  // WeakValueDictionary: address of an Object -> ScriptObject
  nb::object storages;   // WeakValueDictionary: address of a Storage -> Python Storage
  nb::object tensors;    // WeakValueDictionary: address of a TensorImpl -> Tensor
  nb::object shown;      // WeakValueDictionary: address of a Tensor of an object -> Tensor
  nb::object classes;    // WeakKeyDictionary: class type -> capsule of its ClassRef

  Member m_storage{tensor, "_storage"}, m_dtype{tensor, "dtype"}, m_size{tensor, "_size"},
      m_stride{tensor, "_stride"}, m_offset{tensor, "_offset"}, m_grad{tensor, "_requires_grad"},
      m_view{tensor, "_view"}, m_trace{tensor, "_trace"}, m_autograd{tensor, "_autograd"};
  Member m_data{storage, "_data"}, m_owner{storage, "owner"}, m_grown{storage, "has_grown"};
  Member m_type{script_object, "type"}, m_slots{script_object, "slots"};

  // Names of attributes that are not slots of these classes.
  nb::object a_data = interned("data"), a_code = interned("code"),
             a_quantizer = interned("quantizer"), a_scale = interned("scale"),
             a_zero_point = interned("zero_point"), a_scales = interned("scales"),
             a_zero_points = interned("zero_points"), a_axis = interned("axis");

  std::atomic<PyObject*> dtypes[256]{};  // by code, owned, filled on first use
  ~Names() {
    for (auto& dtype : dtypes) Py_XDECREF(dtype.load());
  }
};
extern std::atomic<Names*> names;

Names& look_up();
inline Names& known() {
  Names* there = names.load(std::memory_order_acquire);
  return __builtin_expect(there != nullptr, 1) ? *there : look_up();
}

// Releases these objects, when the process ends.
void forget_names();

inline bool is_a(nb::handle value, const nb::object& type) {
  return value.type().is(type) || PyObject_IsInstance(value.ptr(), type.ptr()) == 1;
}

inline nb::object get(nb::handle object, const nb::object& name) {
  PyObject* value = PyObject_GetAttr(object.ptr(), name.ptr());
  if (!value) throw nb::python_error();
  return nb::steal(value);
}

inline void set(PyObject* object, const nb::object& name, nb::handle value) {
  if (PyObject_SetAttr(object, name.ptr(), value.ptr()) != 0) throw nb::python_error();
}

inline int64_t int_of(nb::handle value) {
  long long number = PyLong_AsLongLong(value.ptr());
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

// What makes records and goes back through them does so alone, as long as it does not let go of
// Python, also where Python has no GIL.
struct Recorder {
  nb::ft_object_guard guard{known().tensors};
};

// The dtype object of the Python package for an element type, and the reverse.
nb::object dtype_of(ScalarType type);
ScalarType dtype_from_python(nb::handle dtype);

}  // namespace scriptlang::python
