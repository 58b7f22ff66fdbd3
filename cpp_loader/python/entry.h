// The short way into a function: a call whose arguments are what the schema declares already.
//
// Nothing is checked twice: a value is taken when its Python class alone says that it fits (a
// Tensor, an array of numpy over whole memory, an int, an object of the declared class). For
// every other call `take` says no, and Python's own binding converts or refuses it by name.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "values/value.h"

namespace scriptlang::python {

namespace nb = nanobind;

class ToNative;

// The arguments of one call, by place: what is passed before all others, or null, and the others.
struct Given {
  PyObject* first;
  PyObject* const* others;
  size_t other_count;

  size_t count() const { return other_count + (first != nullptr); }
  nb::handle operator[](size_t k) const {
    return first ? k ? others[k - 1] : first : others[k];
  }
};

class Entry {
 public:
  // kinds: one letter an argument, see Kind. classes: the class of each object, None for others.
  // defaults: values that cannot change, Ellipsis where there is none. positional: how many
  // arguments may be given by place.
  Entry(const std::string& kinds, nb::list classes, nb::list defaults, size_t positional);

  // The engine's values of a whole call; false where Python has to look at the arguments.
  bool take(const Given& given, std::vector<Value>& values) const;

  int traverse(visitproc visit, void* arg) const;

 private:
  enum Kind : char {
    kTensor = 'T', kOptionalTensor = 't', kInt = 'i', kFloat = 'f', kBool = 'b', kString = 's',
    kNumber = 'n', kObject = 'o'
  };
  static bool fits(char kind, nb::handle cls, nb::handle value);
  static bool take_one(char kind, nb::handle cls, nb::handle value, ToNative& convert, Value* to);

  std::string kinds_;
  nb::list classes_, defaults_;
  size_t positional_;
};

}  // namespace scriptlang::python
