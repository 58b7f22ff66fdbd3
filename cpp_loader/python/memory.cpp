// The Python type `Memory`: memory of the engine as a buffer that numpy can view.
#include "memory.h"

#include "gil.h"
#include "turns.h"

namespace scriptlang::python {

namespace {

PyTypeObject* memory_type = nullptr;

Storage* storage_of(PyObject* self) { return reinterpret_cast<Memory*>(self)->storage; }

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  Storage* storage = storage_of(self);
  Turn turn;  // programs that may resize memory run alone in the process
  if (!Turn::is_inside() && !turn.try_take(nullptr, Effect::Reads)) {
    WithoutPython released;
    turn.take(nullptr, Effect::Reads);
  }
  storage->pin();
  static char empty;
  void* data = storage->nbytes() ? storage->data() : &empty;
  return PyBuffer_FillInfo(view, self, data, Py_ssize_t(storage->nbytes()), storage->read_only(),
                           flags);
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  storage_of(self)->release();
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* nbytes(PyObject* self, void*) { return PyLong_FromLongLong(storage_of(self)->nbytes()); }

PyGetSetDef attributes[] = {
    {"nbytes", nbytes, nullptr, "How many bytes there are.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("Memory of the engine; speaks the buffer protocol.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
    {Py_tp_getset, attributes},
    {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
    {0, nullptr},
};

}  // namespace

nb::object make_memory_type() {
  static PyType_Spec spec = {"scriptlang.interpreter._native.Memory", sizeof(Memory), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  PyObject* made = PyType_FromSpec(&spec);
  if (!made) throw nb::python_error();
  memory_type = reinterpret_cast<PyTypeObject*>(made);
  return nb::borrow(made);  // memory_type keeps the first reference
}

bool is_memory(nb::handle value) { return Py_TYPE(value.ptr()) == memory_type; }

nb::object memory_of(Storage* storage) {
  PyObject* made = PyType_GenericAlloc(memory_type, 0);
  if (!made) throw nb::python_error();
  storage->retain();
  reinterpret_cast<Memory*>(made)->storage = storage;
  return nb::steal(made);
}

}  // namespace scriptlang::python
