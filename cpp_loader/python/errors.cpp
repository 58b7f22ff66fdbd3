// Turns errors of the engine into Python exceptions.
#include "errors.h"

namespace scriptlang::python {

namespace {

PyObject* native_error = nullptr;

nb::str text_of(const std::string& bytes) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(bytes.data(), Py_ssize_t(bytes.size()), "replace"));
}

PyObject* class_of(nb::exception_type type) {
  switch (type) {
    case nb::exception_type::index_error: return PyExc_IndexError;
    case nb::exception_type::key_error: return PyExc_KeyError;
    case nb::exception_type::value_error: return PyExc_ValueError;
    case nb::exception_type::type_error: return PyExc_TypeError;
    case nb::exception_type::attribute_error: return PyExc_AttributeError;
    default: return PyExc_RuntimeError;
  }
}

}  // namespace

nb::object make_native_error() {
  native_error = PyErr_NewException("scriptlang.interpreter._native.NativeError", nullptr, nullptr);
  return nb::borrow(native_error);
}

void set_python_error(const Error& e) {
  nb::list stack;
  for (const ErrorFrame& f : e.stack) stack.append(nb::make_tuple(text_of(f.function), f.pc));
  nb::tuple arguments =
      nb::make_tuple(error_kind_name(e.kind), text_of(e.class_name), text_of(e.message), stack);
  PyErr_SetObject(native_error, arguments.ptr());
}

bool is_native_error() { return PyErr_ExceptionMatches(native_error); }

void set_python_error() {
  try {
    throw;
  } catch (const Error& e) { set_python_error(e); } catch (nb::python_error& e) {
    e.restore();
  } catch (const nb::builtin_exception& e) {
    PyErr_SetString(class_of(e.type()), e.what());
  } catch (const std::bad_alloc&) { PyErr_NoMemory(); } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

}  // namespace scriptlang::python
