// The common case of the tape that the package keeps in Python (scriptlang/ops/derivatives): calls
// of operators that write nothing, where nobody follows what is saved. All else is Python's.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <vector>

#include "values/value.h"

namespace scriptlang::python {

namespace nb = nanobind;

// How the calls of one operator are recorded, and how its node goes back: a Plan, in short.
class Recipe {
 public:
  // A name in the expression of a gradient. kinds: "a" an argument, "s" the shape alone of one, "z"
  // its size; "r", "h" and "y" the same of a result; "g" the gradient of a result; "n" which
  // gradients are wanted. key, other: those of what the node keeps; the second one if the first
  // one is not there.
  struct Name {
    char kind;
    int number;
    nb::object key, other;
  };
  struct Reading {
    nb::object expression, function;
    std::vector<int> inputs;
    std::vector<Name> names;
  };

  // inputs: the arguments that a node has edges for, tensors or lists of them; counted: those for
  // which a call is recorded; results: how many there are, 0 for one list of tensors; view: the
  // argument that the results are views of, or -1.
  Recipe(nb::object plan, nb::object node_class, std::vector<int> inputs, std::vector<int> counted,
         int results, int view, bool is_none, nb::list readings);

  // The gradients of the inputs of a node, in the order of its edges.
  nb::list apply(nb::handle node, nb::list grads, nb::list wanted);

  int view() const { return view_; }

 private:
  friend class RecordedCall;
  nb::object value_of(const Name& name, nb::handle node, nb::handle saved, nb::list grads,
                      const nb::list& needs) const;

  nb::object plan_, node_class_;
  std::vector<int> inputs_, counted_;
  int results_, view_;
  bool is_none_;
  std::vector<Reading> readings_;
};

// One call: `arguments` are its values in the order of the schema, which the caller keeps; null for
// defaults.
class RecordedCall {
 public:
  RecordedCall(const Recipe& recipe, const nb::handle* arguments, size_t count)
      : recipe_(recipe), arguments_(arguments), count_(count) {}

  // Whether a gradient is wanted; nothing if the call is for Python.
  std::optional<bool> is_wanted() const;

  // Keeps what the node keeps of numbers and lists among the arguments, before the call is run.
  void keep(const Value* values);

  // Makes the node of the call, and lets the results know it.
  void note(const nb::object& result, bool is_wanted) const;

 private:
  nb::handle argument(int number) const {
    return size_t(number) < count_ ? arguments_[number] : nb::handle();
  }
  nb::object held_argument(size_t k) const {
    return k < count_ && arguments_[k].is_valid() ? nb::borrow(arguments_[k]) : nb::none();
  }
  nb::object result_at(const nb::object& result, int k) const;
  int count_of(const nb::object& result) const;
  nb::object node(const nb::object& result) const;
  void save(const Recipe::Name& name, const nb::object& result,
            const std::vector<nb::object>& edges, const nb::dict& saved) const;
  bool is_argument(nb::handle value) const;
  void note_view(nb::handle view, nb::handle source) const;

  const Recipe& recipe_;
  const nb::handle* arguments_;
  size_t count_;
  std::vector<nb::object> kept_;  // by the number of the argument
};

// For each tensor, the edge that a gradient of it flows along; None if it requires none.
nb::list edges_of(nb::list tensors);

// Makes the backward pass `walk` (a Walk of walk.py) from its roots, with their gradients. inputs:
// a dict of the nodes that are asked for, with the numbers of their outputs; None for all leaves.
// Gradients of leaves among them are added to their `grad`, if the walk accumulates, and captured
// by the walk otherwise. Returns false, before it does anything, if a node is in the graph that it
// does not know.
bool go_back(nb::object walk, nb::list roots, nb::list grads, nb::object inputs);

// The classes and functions of the package that the tape uses: the classes RuleNode,
// AccumulateGrad, CopySlices, Lists, State, Saved and Shape; the iterator of the nodes' numbers;
// the mode of the thread; and functions: edge_of, read, keep, size_of, fitted, check_time.
void watch_tape(nb::dict known);
void clear_tape();

}  // namespace scriptlang::python
