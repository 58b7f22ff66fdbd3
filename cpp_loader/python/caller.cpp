// The Python type `Caller`, from which ScriptFunction and ScriptModule inherit `__call__`.
#include "caller.h"

#include "convert.h"
#include "errors.h"
#include "grad_mode.h"
#include "member.h"
#include "python_program.h"
#include "stable.h"

namespace scriptlang::python {

namespace {

struct Caller {
  PyObject_HEAD PyObject* program;  // a PythonProgram; if null, every call becomes `_call_`
  PyObject* function;
  PyObject* first;      // passed before the arguments; may be null
  PyObject* trainable;  // that of `calls` when `_enter_` was called
  bool is_recorded;     // in grad mode, since gradients of `first` may be wanted
};

nb::object class_of(nb::handle value) { return nb::borrow(value.type()); }

// The Python objects of `watch_calls`, with the offsets of the attributes that every call reads.
struct Watched {
  nb::object function_class, calls, generator;
  Member m_direct{function_class, "direct"}, m_tracer{class_of(calls), "tracer"},
      m_trainable{class_of(calls), "trainable"}, m_last{class_of(calls), "last"},
      m_is_ahead{class_of(generator), "is_ahead"};
};
Watched* watched = nullptr;

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

struct Names {
  PyObject *call = interned("_call_"), *wrapped = interned("_wrapped_"),
           *hand_over = interned("hand_over");
};
const Names* names = nullptr;

bool holds(nb::handle program, nb::handle function, PyObject* trainable) {
  return watched && watched->m_direct.is(function, program) &&
         watched->m_tracer.is(watched->calls, Py_None) &&
         watched->m_trainable.is(watched->calls, trainable);
}

const Limits& no_limits() {
  static const Limits limits = [] {
    Limits made;
    made.depth = kDepth;
    return made;
  }();
  return limits;
}

// The result of the program; null without an exception if the call has to become `_call_`.
PyObject* run_program(PyObject* self, nb::handle program, nb::handle function, const Given& given) {
  if (!watched->m_last.is(watched->calls, function)) {
    watched->m_last.set(watched->calls.ptr(), nb::borrow(function));
  }
  if (watched->m_is_ahead.is(watched->generator, Py_True)) {
    nb::object done =
        nb::steal(PyObject_CallMethodNoArgs(watched->generator.ptr(), names->hand_over));
    if (!done.is_valid()) return nullptr;
  }
  PythonProgram::Result result;
  if (!nb::inst_ptr<PythonProgram>(program)->call(given, no_limits(), &result)) return nullptr;
  ToPython convert(kMostValues, *result.domain);
  convert.know(&result.passed);
  nb::object converted = convert(result.value);
  result.turn.give();
  if (!convert.wants_wrapping()) return converted.release().ptr();
  return PyObject_CallMethodOneArg(self, names->wrapped, converted.ptr());
}

// Replaces the current NativeError by the exception that the program's `failure` makes from it.
void translate(nb::handle program) {
  nb::object failure = nb::inst_ptr<PythonProgram>(program)->failure;
  if (!is_native_error() || !failure.is_valid() || failure.is_none()) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  nb::object held[] = {nb::steal(type), nb::steal(value), nb::steal(trace)};
  nb::object made = nb::steal(PyObject_CallOneArg(failure.ptr(), value));
  if (made.is_valid()) PyErr_SetObject(made.type().ptr(), made.ptr());
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  // References of our own, since another thread may call `_enter_` meanwhile.
  nb::object program, function, first;
  PyObject* trainable = nullptr;
  bool is_recorded = false;
  {
    nb::ft_object_guard guard(self);
    const Caller& c = *reinterpret_cast<Caller*>(self);
    if (c.program) {
      program = nb::borrow(c.program), function = nb::borrow(c.function);
      first = nb::borrow(c.first), trainable = c.trainable;
      is_recorded = c.is_recorded;
    }
  }
  if (program.is_valid() && !(is_recorded && grad_enabled)) {
    Given given{first.ptr(), args, size_t(PyTuple_GET_SIZE(args)), kwargs};
    PyObject* result = guarded([&]() -> PyObject* {
      if (!holds(program, function, trainable)) return nullptr;
      return run_program(self, program, function, given);
    });
    if (result) return result;
    if (PyErr_Occurred()) {
      translate(program);
      return nullptr;
    }
  }
  nb::object method = nb::steal(PyObject_GetAttr(self, names->call));
  if (!method.is_valid()) return nullptr;
  return PyObject_Call(method.ptr(), args, kwargs);
}

// Sets all fields before it releases the old values, since releasing them may run other threads.
void put(PyObject* self, nb::object program, nb::object function, nb::object first,
         bool is_recorded = false) {
  Caller& c = *reinterpret_cast<Caller*>(self);
  nb::object trainable;
  if (program.is_valid()) trainable = nb::borrow(watched->m_trainable.get(watched->calls));
  PyObject* old[4];
  {
    nb::ft_object_guard guard(self);
    old[0] = std::exchange(c.program, program.release().ptr());
    old[1] = std::exchange(c.function, function.release().ptr());
    old[2] = std::exchange(c.first, first.release().ptr());
    old[3] = std::exchange(c.trainable, trainable.release().ptr());
    c.is_recorded = is_recorded;
  }
  for (PyObject* object : old) Py_XDECREF(object);
}

int clear(PyObject* self) {
  put(self, {}, {}, {});
  return 0;
}

// _enter_(program, function, first=None, is_recorded=False)
PyObject* enter(PyObject* self, PyObject* args) {
  PyObject *program, *function, *first = Py_None;
  int is_recorded = 0;
  if (!PyArg_ParseTuple(args, "OO|Op", &program, &function, &first, &is_recorded)) return nullptr;
  if (program == Py_None) {
    clear(self);
  } else {
    if (!watched || !nb::isinstance<PythonProgram>(program) ||
        PyObject_IsInstance(function, watched->function_class.ptr()) != 1) {
      PyErr_SetString(PyExc_TypeError, "_enter_ takes a Program and its Function");
      return nullptr;
    }
    // What such a program stores may have gradients, which `_call_` has to note.
    if (is_recorded && nb::inst_ptr<PythonProgram>(program)->keeps_values()) {
      clear(self);
      Py_RETURN_NONE;
    }
    put(self, nb::borrow(program), nb::borrow(function),
        first == Py_None ? nb::object() : nb::borrow(first), is_recorded);
  }
  Py_RETURN_NONE;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Caller& c = *reinterpret_cast<Caller*>(self);
#if PY_VERSION_HEX >= 0x03090000
  Py_VISIT(Py_TYPE(self));
#endif
  Py_VISIT(c.program);
  Py_VISIT(c.function);
  Py_VISIT(c.first);
  Py_VISIT(c.trainable);
  return 0;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"_enter_", enter, METH_VARARGS,
     "_enter_(program, function, first=None, is_recorded=False)\n\nLet calls run `function` by "
     "`program`, as long as that is its `direct`, with `first` before\nthe arguments, and not in "
     "grad mode if is_recorded; None: let all calls be `_call_`."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc,
     const_cast<char*>("What runs a program when it is called; see interpreter/calls.py.")},
    {Py_tp_call, reinterpret_cast<void*>(&call)},
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(&clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
    {Py_tp_methods, methods},
    {0, nullptr},
};

}  // namespace

nb::object make_caller_type() {
  names = new Names;
  static PyType_Spec spec = {"scriptlang.interpreter._native.Caller", sizeof(Caller), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  PyObject* made = PyType_FromSpec(&spec);
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

void watch_calls(nb::object function_class, nb::object calls, nb::object generator) {
  clear_calls();
  watched = new Watched{function_class, calls, generator};
}

void clear_calls() {
  delete watched;
  watched = nullptr;
}

}  // namespace scriptlang::python
