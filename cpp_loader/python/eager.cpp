// Calls of single operators from Python: the table by which they find their kernels.
#include "eager.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convert.h"
#include "errors.h"
#include "grad_mode.h"
#include "operator_kernel.h"
#include "stable.h"
#include "tape.h"
#include "tape_parts.h"

namespace scriptlang::python {

namespace {

// The kinds of the values of a call, on which the choice of an overload depends, as bytes. A call
// with a value of another kind, or too many of them, has no key.
class Key {
 public:
  bool add_call(nb::handle name, PyObject* args, PyObject* kwargs, bool is_method) {
    Py_hash_t hash = PyObject_Hash(name.ptr());
    if (!add(&hash, sizeof hash) || !add_byte(is_method ? 'm' : 'f')) return false;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); ++k) {
      if (!add_value(PyTuple_GET_ITEM(args, k))) return false;
    }
    if (!kwargs || PyDict_GET_SIZE(kwargs) == 0) return true;
    PyObject *word, *value;
    for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &word, &value);) {
      hash = PyObject_Hash(word);
      if (!add_byte('=') || !add(&hash, sizeof hash) || !add_value(value)) return false;
    }
    return true;
  }
  std::string_view bytes() const { return {bytes_, size_}; }

 private:
  bool add(const void* from, size_t size) {
    if (size_ + size > sizeof bytes_) return false;
    std::memcpy(bytes_ + size_, from, size);
    size_ += size;
    return true;
  }
  bool add_byte(char byte) { return add(&byte, 1); }

  bool add_value(nb::handle value) {
    PyObject* p = value.ptr();
    Names& n = known();
    if (p == Py_None) return add_byte('N');
    if (PyBool_Check(p)) return add_byte('b');
    if (PyLong_Check(p)) return add_byte('i');  // also the members of enums
    if (PyFloat_CheckExact(p)) return add_byte('f');
    if (is_strided(value)) {
      if (PyTuple_GET_SIZE(nb::handle(n.m_size.get(value)).ptr()) != 0) return add_byte('T');
      return add_byte('0') && add_byte(char(dtype_from_python(n.m_dtype.get(value))));
    }
    if (PyList_CheckExact(p) || PyTuple_Check(p)) return add_items(p);
    if (PyUnicode_CheckExact(p)) return add_byte('s');
    if (value.type().is(n.dtype)) return add_byte('d');
    return value.type().is(n.device) && add_byte('D');
  }

  // A list or tuple: the kinds of its items, or that of all of them.
  bool add_items(PyObject* p) {
    const bool is_list = PyList_Check(p) != 0;
    const Py_ssize_t size = is_list ? PyList_GET_SIZE(p) : PyTuple_GET_SIZE(p);
    if (!add_byte(is_list ? '[' : '(') || size == 0) return size == 0;
    const size_t before = size_;
    size_t first = 0;  // the bytes of the first item, as long as all are of its kind
    for (Py_ssize_t k = 0; k < size; ++k) {
      const size_t at = size_;
      nb::object item = nb::borrow(is_list ? PyList_GET_ITEM(p, k) : PyTuple_GET_ITEM(p, k));
      if (PyList_Check(item.ptr()) || PyTuple_Check(item.ptr()) || !add_value(item)) return false;
      if (k == 0) {
        first = size_ - at;
      } else if (first != 0) {
        const std::string_view now(bytes_ + at, size_ - at);
        if (now == std::string_view(bytes_ + before, first)) {
          size_ = at;
          continue;
        }
        first = 0;  // another kind: so many were of the first one
        if (k > 127 || !add_byte('*') || !add_byte(char(k))) return false;
      }
    }
    return true;
  }

  char bytes_[120];
  size_t size_ = 0;
};

// Where the value of an argument comes from, and how it is converted.
struct Place {
  // The number of the value in the call, those by name behind the others; kDefault for `fallback`;
  // kRest for the ints from number `from` on.
  int number, from;
  char kind;  // see `take`
  bool is_optional;
  int size;  // of a list that may be given as one int; else 0
  nb::object fallback;
};
constexpr int kDefault = -1, kRest = -2;

struct Choice {
  nb::object name;    // as the call has it
  nb::object kernel;  // invalid if calls of this kind are for Python
  bool is_plain;      // neither makes views nor writes to arguments
  std::vector<Place> places;
  nb::object recipe;  // a Recipe; None if calls that have to be recorded are for Python
  nb::object body;    // the Python function that calls recorded operators instead; or None
};

bool take_int(PyObject* p, Value* to) {
  if (!PyLong_Check(p) || PyBool_Check(p)) return false;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(p, &overflow);
  *to = Value(int64_t(number));
  return overflow == 0;
}

// One call: converts its values.
class Taking {
 public:
  Taking(const Kernel& kernel, bool is_recorded) : kernel_(kernel), is_recorded_(is_recorded) {}

  // kinds: "T" Tensor, "i" int, "f" float, "b" bool, "s" str, "n" number, "d" dtype, "D" device,
  // "m" memory format, "I" ints, "X" Tensors, "Y" Tensors or None. Returns false if the value does
  // not fit, or its derivative may be wanted.
  bool take(const Place& place, nb::handle value, Value* to) {
    PyObject* p = value.ptr();
    if (p == Py_None) return place.is_optional;
    switch (place.kind) {
      case 'T': return take_tensor(value, to);
      case 'n':
        if (PyBool_Check(p)) {
          *to = Value(p == Py_True);
          return true;
        }
        [[fallthrough]];
      case 'f':
        if (PyFloat_Check(p)) {
          *to = Value(PyFloat_AS_DOUBLE(p));
          return true;
        }
        if (!take_int(p, to)) return false;
        if (place.kind == 'f') *to = Value(double(to->as_int()));
        return true;
      case 'i':
        if (!PyBool_Check(p)) return take_int(p, to);
        *to = Value(int64_t(p == Py_True));
        return true;
      case 'b': *to = Value(p == Py_True); return PyBool_Check(p);
      case 's':
        if (!PyUnicode_CheckExact(p)) return false;
        *to = convert_(value);
        return true;
      case 'd':
        if (!value.type().is(known().dtype)) return take_int(p, to);
        *to = Value(int64_t(dtype_from_python(value)));
        return true;
      case 'D':
        if (!value.type().is(known().device) && !PyUnicode_CheckExact(p)) return false;
        *to = Value(parse_device(nb::cast<std::string>(nb::str(value))));
        return true;
      case 'm': {
        int64_t number = -1;
        if (take_int(p, to)) number = to->as_int();
        return number >= 0 && number <= 3;
      }
      case 'I':
      case 'X':
      case 'Y': return take_list(place, p, to);
      default: return false;
    }
  }

  // The ints of a call from one number on, as a list.
  bool take_rest(PyObject* args, int from, Value* to) {
    Ref<List> list = List::make();
    for (Py_ssize_t k = from; k < PyTuple_GET_SIZE(args); ++k) {
      Value item;
      if (!take_int(PyTuple_GET_ITEM(args, k), &item)) return false;
      list->push(std::move(item));
    }
    *to = std::move(list);
    return true;
  }

  Value of_default(nb::handle value) { return convert_(value); }
  const Passed& passed() const { return passed_; }

 private:
  bool take_tensor(nb::handle value, Value* to) {
    if (!is_strided(value)) return false;
    if (is_recorded_ && may_need_gradient(value)) return false;
    *to = tensor_of(kernel_, value, convert_, passed_);
    return true;
  }

  bool take_list(const Place& place, PyObject* p, Value* to) {
    Ref<List> list = List::make();
    if (place.size && PyLong_Check(p)) {
      Value item;
      if (!take_int(p, &item)) return false;
      for (int k = 0; k < place.size; ++k) list->push(Value(item));
      *to = std::move(list);
      return true;
    }
    const bool is_list = PyList_CheckExact(p);
    if (!is_list && !PyTuple_Check(p)) return false;
    for (Py_ssize_t k = 0; k < (is_list ? PyList_GET_SIZE(p) : PyTuple_GET_SIZE(p)); ++k) {
      nb::object item = nb::borrow(is_list ? PyList_GET_ITEM(p, k) : PyTuple_GET_ITEM(p, k));
      Value taken;
      if (place.kind == 'I') {
        if (!take_int(item.ptr(), &taken)) return false;
      } else if (!(place.kind == 'Y' && item.is_none())) {
        if (!is_strided(item) || (is_recorded_ && may_need_gradient(item))) return false;
        convert_.note(&passed_);
        taken = convert_.tensor(item);
      }
      list->push(std::move(taken));
    }
    *to = std::move(list);
    return true;
  }

  const Kernel& kernel_;
  bool is_recorded_;
  ToNative convert_;
  Passed passed_;
};

// The value of a call by its number.
nb::handle value_at(PyObject* args, PyObject* kwargs, int number) {
  const Py_ssize_t positional = PyTuple_GET_SIZE(args);
  if (number < positional) return PyTuple_GET_ITEM(args, number);
  PyObject *word, *value = nullptr;
  Py_ssize_t at = 0;
  for (Py_ssize_t k = positional; k <= number; ++k) {
    if (!PyDict_Next(kwargs, &at, &word, &value)) return {};
  }
  return value;
}

struct EagerCalls {
  PyObject_HEAD std::unordered_map<std::string, std::shared_ptr<const Choice>>* choices;
  nb::ft_mutex* reading;
};

// Whether calls of this thread are for the native engine now.
bool is_on() {
  return watched && !eager_mode.is_off && watched->m_tracer.is(watched->calls, Py_None);
}

PyObject* not_for_us() { return nb::borrow(Py_NotImplemented).release().ptr(); }

// Whether views, writes and what requires a gradient have to be noted.
bool is_noting() {
  return eager_mode.marks ||
         (!eager_mode.is_bare && !watched->m_recorder.is(watched->calls, Py_None));
}

// Whether tensors may have tangents: a level of forward mode is open.
bool has_tangents() {
  const nb::object recorder = nb::borrow(watched->m_recorder.get(watched->calls));
  return nb::hasattr(recorder, watched->follows_tangents.ptr());
}

// Marks the tensors that a call has made as those of inference mode, but for its arguments.
void mark(nb::handle made, const nb::handle* given, size_t count) {
  if (PyList_Check(made.ptr()) || PyTuple_Check(made.ptr())) {
    for (nb::handle item : nb::borrow<nb::sequence>(made)) mark(item, given, count);
    return;
  }
  const bool is_given =
      std::any_of(given, given + count, [&](nb::handle value) { return value.is(made); });
  if (!is_given && is_a(made, known().tensor)) watched->marks[0](made);
}

// Whether a value, or one in a list, requires a gradient or has a tangent.
bool is_followed(nb::handle value, bool may_have_tangent) {
  if (!value.is_valid()) return false;
  if (is_strided(value)) {
    return requires_gradient(value) || (may_have_tangent && may_need_gradient(value));
  }
  if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())) return false;
  for (nb::handle item : nb::borrow<nb::sequence>(value)) {
    if (is_followed(item, may_have_tangent)) return true;
  }
  return false;
}

// Whether one of the values of a call has to be followed now.
bool follows_any(const nb::handle* given, size_t count) {
  const bool may_have_tangent = has_tangents();
  if (!grad_enabled && !may_have_tangent) return false;
  return std::any_of(given, given + count,
                     [&](nb::handle value) { return is_followed(value, may_have_tangent); });
}

// The result of the body of a composite, which calls operators that are recorded.
nb::object run_body(const Choice& choice, const Value* values, const nb::handle* given,
                    size_t count) {
  nb::object arguments = nb::steal(PyTuple_New(Py_ssize_t(count)));
  if (!arguments.is_valid()) throw nb::python_error();
  for (size_t k = 0; k < count; ++k) {
    // Tensors stay themselves, also those in lists.
    const char kind = choice.places[k].kind;
    const bool is_list = (kind == 'X' || kind == 'Y') && given[k].is_valid();
    nb::object argument;
    if (values[k].tag() == Tag::Tensor || (is_list && PyList_Check(given[k].ptr()))) {
      argument = nb::borrow(given[k]);
    } else if (is_list && !given[k].is_none()) {
      argument = nb::steal(PySequence_List(given[k].ptr()));
    } else {
      argument = ToPython()(values[k]);
    }
    if (!argument.is_valid()) throw nb::python_error();
    PyTuple_SET_ITEM(arguments.ptr(), Py_ssize_t(k), argument.release().ptr());
  }
  nb::object made = nb::steal(PyObject_CallObject(choice.body.ptr(), arguments.ptr()));
  if (!made.is_valid()) throw nb::python_error();
  const Kernel& kernel = *reinterpret_cast<Kernel*>(choice.kernel.ptr());
  const bool is_tuple = PyTuple_CheckExact(made.ptr()) != 0;
  if (!is_tuple || size_t(PyTuple_GET_SIZE(made.ptr())) != kernel.count) return made;
  return named_results(kernel, made);
}

// The result of a call of a kind that is known; null without an exception if it is for Python.
PyObject* run_choice(const Choice& choice, PyObject* args, PyObject* kwargs) {
  const bool is_noted = is_noting();
  const Recipe* recipe = nullptr;
  if (is_noted && !choice.recipe.is_none() && !eager_mode.marks && !eager_mode.is_followed &&
      !has_tangents()) {
    recipe = nb::inst_ptr<Recipe>(choice.recipe);
  }
  const bool has_body = is_noted && !eager_mode.marks && !choice.body.is_none();
  if (is_noted && !choice.is_plain && !has_body && !(recipe && recipe->view() >= 0)) {
    return nullptr;
  }
  const Kernel& kernel = *reinterpret_cast<Kernel*>(choice.kernel.ptr());
  Taking taking(kernel, is_noted && !recipe && !has_body && (grad_enabled || has_tangents()));
  Value values[kMostArguments];
  nb::handle given[kMostArguments];
  size_t count = 0;
  for (const Place& place : choice.places) {
    Value* to = &values[count++];
    if (place.number == kDefault) {
      if (!place.fallback.is_none()) *to = taking.of_default(place.fallback);
    } else if (place.number == kRest) {
      if (!taking.take_rest(args, place.from, to)) return nullptr;
    } else {
      nb::handle value = value_at(args, kwargs, place.number);
      if (!value.is_valid() || !taking.take(place, value, to)) return nullptr;
      given[count - 1] = value;
    }
  }
  if (has_body && (!choice.is_plain || follows_any(given, count))) {
    if (has_tangents()) return nullptr;  // or a batch, which may need another way than the body
    return run_body(choice, values, given, count).release().ptr();
  }
  if (recipe) {
    RecordedCall call(*recipe, given, count);
    const std::optional<bool> is_wanted = call.is_wanted();
    if (!is_wanted) return nullptr;
    if (*is_wanted) call.keep(values);
    nb::object made = results_of(kernel, values, count, taking.passed());
    call.note(made, *is_wanted);
    return made.release().ptr();
  }
  nb::object made = results_of(kernel, values, count, taking.passed());
  if (eager_mode.marks) mark(made, given, count);
  return made.release().ptr();
}

// table(name, args, kwargs, is_method): the result; NotImplemented if the call is for Python;
// Ellipsis if it is of a kind that the table does not know yet.
PyObject* call_table(PyObject* self, PyObject* given, PyObject*) {
  PyObject *name, *args, *kwargs;
  int is_method;
  if (!PyArg_ParseTuple(given, "OOOp", &name, &args, &kwargs, &is_method)) return nullptr;
  if (!PyTuple_CheckExact(args) || !PyDict_CheckExact(kwargs)) return not_for_us();
  EagerCalls& table = *reinterpret_cast<EagerCalls*>(self);
  PyObject* result = guarded([&]() -> PyObject* {
    Key key;
    if (!is_on() || !key.add_call(name, args, kwargs, is_method != 0)) return not_for_us();
    std::shared_ptr<const Choice> choice;
    {
      nb::ft_lock_guard guard(*table.reading);
      auto found = table.choices->find(std::string(key.bytes()));
      if (found != table.choices->end()) choice = found->second;
    }
    if (!choice || PyUnicode_Compare(choice->name.ptr(), name) != 0) {
      return nb::borrow(Py_Ellipsis).release().ptr();
    }
    PyObject* made = choice->kernel.is_valid() ? run_choice(*choice, args, kwargs) : nullptr;
    return made ? made : not_for_us();
  });
  if (result || !may_ask_again()) return result;
  PyErr_Clear();  // Python finds out why, or runs it
  return not_for_us();
}

// learn(name, args, kwargs, is_method, is_plain, kernel, places, recipe, body)
PyObject* learn(PyObject* self, PyObject* given) {
  PyObject *name, *args, *kwargs, *kernel, *places, *recipe, *body;
  int is_method, is_plain;
  if (!PyArg_ParseTuple(given, "OO!O!ppOO!OO", &name, &PyTuple_Type, &args, &PyDict_Type, &kwargs,
                        &is_method, &is_plain, &kernel, &PyTuple_Type, &places, &recipe, &body)) {
    return nullptr;
  }
  EagerCalls& table = *reinterpret_cast<EagerCalls*>(self);
  return guarded([&]() -> PyObject* {
    Key key;
    if (!key.add_call(name, args, kwargs, is_method != 0)) Py_RETURN_NONE;
    auto made = std::make_shared<Choice>();
    Choice& choice = *made;
    choice.name = nb::borrow(name);
    choice.is_plain = is_plain != 0;
    choice.recipe = nb::borrow(recipe);
    choice.body = nb::borrow(body);
    if (recipe != Py_None && !nb::isinstance<Recipe>(recipe)) throw nb::type_error("not a Recipe");
    if (kernel != Py_None) {
      if (!is_kernel(kernel)) throw nb::type_error("not a Kernel");
      choice.kernel = nb::borrow(kernel);
    }
    for (nb::handle told : nb::borrow<nb::tuple>(places)) {
      auto [number, from, kind, is_optional, size, fallback] =
          nb::cast<std::tuple<int, int, char, bool, int, nb::object>>(told);
      choice.places.push_back({number, from, kind, is_optional, size, fallback});
    }
    nb::ft_lock_guard guard(*table.reading);
    (*table.choices)[std::string(key.bytes())] = std::move(made);
    Py_RETURN_NONE;
  });
}

PyObject* new_table(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* made = PyType_GenericAlloc(type, 0);
  if (!made) return nullptr;
  EagerCalls& table = *reinterpret_cast<EagerCalls*>(made);
  table.choices = new std::unordered_map<std::string, std::shared_ptr<const Choice>>;
  table.reading = new nb::ft_mutex;
  return made;
}

// forget(): calls of all kinds become unknown.
PyObject* forget(PyObject* self, PyObject*) {
  EagerCalls& table = *reinterpret_cast<EagerCalls*>(self);
  std::unordered_map<std::string, std::shared_ptr<const Choice>> before;
  nb::ft_lock_guard guard(*table.reading);
  table.choices->swap(before);
  Py_RETURN_NONE;
}

// The table lives as long as the process.
PyMethodDef table_methods[] = {
    {"learn", learn, METH_VARARGS,
     "learn(name, args, kwargs, is_method, is_plain, kernel, places, recipe, body)\n\nLet calls "
     "with "
     "values of "
     "the kinds of these run a Kernel; None: they are for Python."},
    {"forget", forget, METH_NOARGS, "forget()\n\nLet calls of all kinds be unknown again."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot table_slots[] = {
    {Py_tp_doc, const_cast<char*>("The kernels of calls, by the name and the kinds of values.")},
    {Py_tp_new, reinterpret_cast<void*>(&new_table)},
    {Py_tp_call, reinterpret_cast<void*>(&call_table)},
    {Py_tp_methods, table_methods},
    {0, nullptr},
};

}  // namespace

nb::object make_eager_calls_type() {
  static PyType_Spec spec = {"scriptlang.interpreter._native.EagerCalls", sizeof(EagerCalls), 0,
                             Py_TPFLAGS_DEFAULT, table_slots};
  PyObject* made = PyType_FromSpec(&spec);
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

}  // namespace scriptlang::python
