// The fast path of calls, for arguments whose Python types already fit the schema.
//
// A value is accepted if its Python class shows that it fits: a Tensor, a contiguous numpy array,
// an int, an object of the declared class. A list, dict or tuple is accepted if all its elements
// are. For every other call `take` returns false, and Python (interpreter/arguments.py) converts
// the arguments or raises an error that names the wrong one.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "stable.h"
#include "values/value.h"

namespace scriptlang::python {

namespace nb = nanobind;

class Passed;
class ToNative;

// The arguments of one call: one that is passed before all others (or null), the tuple of those by
// place, and a dict of keyword arguments (or null).
struct Given {
  PyObject* first;
  PyObject* others;
  size_t other_count;
  PyObject* by_name;
  bool is_unrecorded = false;  // whether the caller knows that no gradient is wanted of them

  size_t count() const { return other_count + (first != nullptr); }
  nb::handle operator[](size_t k) const {
    if (first && k == 0) return first;
    return PyTuple_GET_ITEM(others, Py_ssize_t(first ? k - 1 : k));
  }
};

class Entry {
 public:
  // arguments: (name, kind, default or Ellipsis) of each; defaults are immutable values. A kind is
  // one of "T" Tensor, "i" int, "f" float, "b" bool, "s" str, "n" number, "c" complex, "-" never
  // accepted, or a tuple: ("?", kind) optional, ("L", kind) list, ("D", kind, kind) dict, ("U",
  // kind, ...) tuple, ("o", class) object. positional: how many arguments may be positional.
  Entry(nb::list arguments, size_t positional);

  // Converts the arguments of a call, and fills in defaults. Returns false if Python has to convert
  // them.
  bool take(const Given& given, std::vector<Value>& values, ToNative& convert,
            Passed* passed) const;

  int traverse(visitproc visit, void* arg) const;

 private:
  struct Kind {
    char letter;
    nb::handle cls;  // for "o"
    std::vector<Kind> parts;
  };
  struct Argument {
    nb::handle name, fallback;
    Kind kind;
  };
  static Kind kind_of(nb::handle told);
  static bool take_one(const Kind& kind, nb::handle value, ToNative& convert, Value* to);
  static bool take_list(const Kind& kind, nb::handle value, ToNative& convert, Value* to);
  static bool take_dict(const Kind& kind, nb::handle value, ToNative& convert, Value* to);
  static bool take_tuple(const Kind& kind, nb::handle value, ToNative& convert, Value* to);

  nb::list told_;  // keeps the objects alive to which arguments_ refers
  std::vector<Argument> arguments_;
  size_t positional_;
};

}  // namespace scriptlang::python
