// Fast path of calls: takes arguments whose Python types already fit the schema.
//
// Nothing is checked twice: a value is taken when its Python class says that it fits (a Tensor, an
// array of numpy over whole memory, an int, an object of the declared class), and a list, dict or
// tuple when all in it fit. For every other call `take` says no, and Python's own binding converts
// or refuses it by name.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "values/value.h"

namespace scriptlang::python {

namespace nb = nanobind;

class ToNative;

// The arguments of one call: what is passed before all others, or null, the others by place, and
// those by name, or null.
struct Given {
  PyObject* first;
  PyObject* const* others;
  size_t other_count;
  PyObject* by_name;

  size_t count() const { return other_count + (first != nullptr); }
  nb::handle operator[](size_t k) const { return first ? k ? others[k - 1] : first : others[k]; }
};

class Entry {
 public:
  // arguments: (name, kind, default or Ellipsis) of each; defaults are values that cannot change.
  // A kind is one of "T" Tensor, "i" int, "f" float, "b" bool, "s" str, "n" number, "c" complex,
  // "-" what is never taken, or a tuple: ("?", kind) optional, ("L", kind) list, ("D", kind, kind)
  // dict, ("U", kind, ...) tuple, ("o", class) object. positional: how many arguments may be given
  // by place.
  Entry(nb::list arguments, size_t positional);

  // The engine's values of a whole call; false where Python has to look at the arguments.
  bool take(const Given& given, std::vector<Value>& values, ToNative& convert) const;

  int traverse(visitproc visit, void* arg) const;

 private:
  struct Kind {
    char letter;
    nb::handle cls;  // of an object
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

  nb::list told_;  // keeps what the others refer to
  std::vector<Argument> arguments_;
  size_t positional_;
};

}  // namespace scriptlang::python
