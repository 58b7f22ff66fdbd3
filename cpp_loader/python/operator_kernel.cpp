// Kernels: operators of the library that Python calls with all their arguments.
#include "operator_kernel.h"

#include <atomic>
#include <string>

#include "../kernels/parallel.h"
#include "eager.h"
#include "errors.h"
#include "gil.h"
#include "grad_mode.h"
#include "stable.h"

namespace scriptlang::python {

Watched* watched = nullptr;

bool is_strided(nb::handle value) {
  if (is_tensor(value)) return true;
  if (!watched || PyObject_IsInstance(value.ptr(), known().tensor.ptr()) != 1) return false;
  nb::object told = nb::steal(PyObject_GetAttr(value.type().ptr(), watched->is_nested.ptr()));
  return told.is(nb::bool_(false));
}

Tensor tensor_of(const Kernel& kernel, nb::handle value, ToNative& convert, Passed& passed) {
  convert.note(nullptr);  // only tensors in lists have to be kept
  Tensor made = convert.tensor(value);
  if (shares_memory(made, value)) {
    passed.add_argument(value.ptr(), made.impl());
  } else if (kernel.may_alias) {
    raise(ErrorKind::TypeError, "its memory must not be written");
  }
  return made;
}

nb::object results_of(const Kernel& kernel, Value* values, size_t count, const Passed& passed) {
  if (watched->m_is_ahead.is(watched->generator, Py_True)) {
    nb::object done = nb::steal(
        PyObject_CallMethodObjArgs(watched->generator.ptr(), watched->hand_over.ptr(), nullptr));
    if (!done.is_valid()) throw nb::python_error();
  }
  Context context;
  context.threads = kernels::thread_count();
  context.grad_enabled = grad_enabled;
  context.generator = &default_generator();
  Value results[kMostResults];
  // Kernels may use again what they alone hold; the tensors of the call are needed after it.
  Value held[kMostArguments];
  for (size_t k = 0; k < count; ++k) {
    if (values[k].tag() == Tag::Tensor) held[k] = values[k];
  }
  {
    WithoutPython released;
    kernel.entry->run(context, Args(values, int(count)), results);
  }
  ToPython convert;
  convert.know(&passed);
  if (kernel.count == 0) return nb::none();
  if (kernel.count == 1) return convert(results[0]);
  nb::object made = nb::steal(PyTuple_New(Py_ssize_t(kernel.count)));
  if (!made.is_valid()) throw nb::python_error();
  for (size_t k = 0; k < kernel.count; ++k) {
    PyTuple_SET_ITEM(made.ptr(), Py_ssize_t(k), convert(results[k]).release().ptr());
  }
  return named_results(kernel, made);
}

nb::object named_results(const Kernel& kernel, nb::object results) {
  if (kernel.named == Py_None) return results;
  nb::object named = nb::steal(PyObject_CallOneArg(kernel.named, results.ptr()));
  if (!named.is_valid()) throw nb::python_error();
  return named;
}

bool may_ask_again() { return PyErr_ExceptionMatches(PyExc_Exception) != 0; }

namespace {

std::atomic<int64_t> refusals{0};
PyTypeObject* kernel_type = nullptr;

// Runs the operator on the tuple of all its arguments.
nb::object run(const Kernel& kernel, PyObject* arguments) {
  const size_t count = size_t(PyTuple_GET_SIZE(arguments));
  if (!watched || count > kMostArguments || count != schema_of(*kernel.entry).arguments.size()) {
    raise(ErrorKind::TypeError, "the operator takes another number of arguments");
  }
  Value values[kMostArguments];
  ToNative convert;
  Passed passed;
  for (size_t k = 0; k < count; ++k) {
    PyObject* argument = PyTuple_GET_ITEM(arguments, Py_ssize_t(k));
    if (is_strided(argument)) {
      values[k] = tensor_of(kernel, argument, convert, passed);
    } else {
      if (is_a(argument, known().tensor)) raise(ErrorKind::TypeError, "a tensor without strides");
      convert.note(&passed);
      values[k] = convert(argument);
    }
  }
  return results_of(kernel, values, count, passed);
}

// What the native engine refuses is for the Python engine, which runs it or tells why not.
PyObject* ask_python(const Kernel& kernel, PyObject* arguments) {
  if (!may_ask_again()) return nullptr;
  PyErr_Clear();
  refusals.fetch_add(1, std::memory_order_relaxed);
  nb::object other = nb::steal(PyObject_GetAttrString(kernel.op, "kernel"));
  return other.is_valid() ? PyObject_CallObject(other.ptr(), arguments) : nullptr;
}

PyObject* call_kernel(PyObject* self, PyObject* arguments, PyObject*) {
  const Kernel& kernel = *reinterpret_cast<Kernel*>(self);
  PyObject* result = guarded([&] { return run(kernel, arguments).release().ptr(); });
  return result ? result : ask_python(kernel, arguments);
}

// Kernel(operator, qualified name, named=None, may_alias=True)
PyObject* new_kernel(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"operator", "name", "named", "may_alias", nullptr};
  PyObject *op, *named = Py_None;
  const char* name;
  int may_alias = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Os|Op", const_cast<char**>(names), &op, &name,
                                   &named, &may_alias)) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const OpEntry* entry = find_op(name);
    if (!entry) raise(ErrorKind::ValueError, "the native engine has no operator ", name);
    const Schema& schema = schema_of(*entry);
    if (schema.arguments.size() > kMostArguments || schema.returns.size() > kMostResults) {
      raise(ErrorKind::ValueError, name, " has too many arguments or results");
    }
    PyObject* made = PyType_GenericAlloc(type, 0);
    if (!made) throw nb::python_error();
    Kernel& kernel = *reinterpret_cast<Kernel*>(made);
    kernel.entry = entry;
    kernel.op = nb::borrow(op).release().ptr();
    kernel.named = nb::borrow(named).release().ptr();
    kernel.count = schema.returns.size();
    kernel.may_alias = may_alias != 0;
    return made;
  });
}

int traverse_kernel(PyObject* self, visitproc visit, void* arg) {
  Kernel& kernel = *reinterpret_cast<Kernel*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(kernel.op);
  Py_VISIT(kernel.named);
  return 0;
}

int clear_kernel(PyObject* self) {
  Kernel& kernel = *reinterpret_cast<Kernel*>(self);
  Py_CLEAR(kernel.op);
  Py_CLEAR(kernel.named);
  return 0;
}

void deallocate_kernel(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear_kernel(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyType_Slot kernel_slots[] = {
    {Py_tp_doc,
     const_cast<char*>("Kernel(operator, name, named=None, may_alias=True)\n\nAn operator of the "
                       "native engine, called with all its arguments.\nWhat it refuses "
                       "is for the `kernel` of `operator`.")},
    {Py_tp_new, reinterpret_cast<void*>(&new_kernel)},
    {Py_tp_call, reinterpret_cast<void*>(&call_kernel)},
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse_kernel)},
    {Py_tp_clear, reinterpret_cast<void*>(&clear_kernel)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate_kernel)},
    {0, nullptr},
};

}  // namespace

bool is_kernel(PyObject* object) { return PyObject_TypeCheck(object, kernel_type); }

nb::object make_kernel_type() {
  static PyType_Spec spec = {"scriptlang.interpreter._native.Kernel", sizeof(Kernel), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, kernel_slots};
  PyObject* made = PyType_FromSpec(&spec);
  if (!made) throw nb::python_error();
  kernel_type = reinterpret_cast<PyTypeObject*>(made);
  return nb::borrow(made);
}

void watch_eager_calls(nb::object calls, nb::object generator, nb::list marks) {
  clear_eager_calls();
  watched = new Watched{calls, generator, marks};
}

int64_t eager_refusals() { return refusals; }

void clear_eager_calls() {
  delete watched;
  watched = nullptr;
}

}  // namespace scriptlang::python
