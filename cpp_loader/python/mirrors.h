// The lists and dicts of the engine that one run of the Python engine uses.
//
// The Python engine may run a method of an object whose attributes lie in the native engine. A list
// or dict that it reads there is converted to one of Python, its mirror, and stays it for the whole
// run, so that the program sees its own changes. `store` copies what changed back to the engine.
#pragma once

#include <nanobind/nanobind.h>

#include <unordered_map>
#include <vector>

#include "convert.h"

namespace scriptlang::python {

namespace nb = nanobind;

class Mirrors {
 public:
  // The value of a slot, with mirrors for lists and dicts.
  nb::object get(const NativeObject& object, int64_t slot);

  // Sets a slot. Lists and dicts in the value become mirrors of those that the engine makes.
  void set(const NativeObject& object, int64_t slot, nb::handle value);

  // Copies what the run has changed to the engine.
  void store();

  // Says that others may have changed the engine's lists and dicts. All changes must be stored.
  void expire() { ++age_; }

  // For the conversions: the mirror of a list or dict, and the list or dict of a mirror; null if
  // there is none.
  const nb::object* mirror_of(const Value& value, ToPython& convert, int depth);
  const Value* original_of(nb::handle mirror) const;
  void add(const Value& original, const nb::object& mirror);

 private:
  struct Pair {
    Value original;
    nb::object mirror;
    nb::object stored;  // the elements of the mirror when it was equal to the original
    DomainRef domain;
    int64_t age;
  };
  static bool has_changed(const Pair& pair);
  void settle(const DomainRef& domain);
  void abandon();

  std::vector<Pair> pairs_;
  std::unordered_map<uint64_t, size_t> by_original_;  // bits of the Value -> index of the pair
  std::unordered_map<PyObject*, size_t> by_mirror_;
  std::vector<size_t> unsettled_;  // pairs without `stored` and `domain`
  int64_t age_ = 0;
};

}  // namespace scriptlang::python
