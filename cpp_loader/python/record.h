// A recorded call of a program, which is one node of the autograd graph in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autograd/node.h"
#include "convert.h"

namespace scriptlang::python {

namespace nb = nanobind;

// inputs: edges for the gradients of the Tensors that were passed to the call, or that objects
// passed to it hold. outputs: the tensors that were computed from them. memory: that of all Tensors
// that Python has of the call; it may write to them later.
struct Record {
  std::vector<autograd::Edge> inputs;
  std::vector<Tensor> outputs;
  std::vector<Tensor> memory;

  // Computes the gradients of the inputs from those of the outputs (None for outputs without one).
  // wanted: for each input, whether its gradient is needed. creates: the gradients shall be
  // differentiable.
  //
  // Returns (gradients, record, taken, given). gradients is a list with None for inputs that are
  // not wanted. With `creates`, record is the Record of this computation, otherwise None. Its
  // inputs are the given gradients with the indices `taken`, then the inputs of this Record; its
  // outputs are the entries of the list with the indices `given`.
  nb::tuple backward(nb::list gradients, nb::list wanted, bool creates);

  // Notes that Python has written to some of `memory`, given by their numbers, since the call. If
  // the graph has saved it, going backward raises.
  void note_writes(nb::list numbers);
};

// Makes the Record of a call.
class Recording {
 public:
  // wanted: the Tensors whose gradients are wanted; leaves: whether each is a leaf. None for one
  // that only tells whether it requires a gradient, which objects of the engine may have otherwise.
  Recording(nb::list wanted, nb::list leaves);

  // Finds the inputs among the Tensors that were converted, and in objects of the engine. It is
  // called before the run.
  void take(const ToNative& convert, const std::vector<Value>& values);

  // Adds the Tensors of objects whose gradients are wanted to those that results may be views of.
  void note(Passed* passed) const;

  // Makes the Record after the run. Returns (record or None, Tensors of the inputs, Tensors of the
  // outputs, those of them that were there before and were written, arguments that the program made
  // require a gradient, Tensors of Record::memory). writes: whether the run may have written to
  // tensors in objects.
  nb::tuple finish(const Value& result, ToPython& convert, bool writes);

 private:
  void add(nb::handle tensor, const Tensor& t);
  void find(const Value& value);
  void add_input(nb::object tensor, const Tensor& t);
  bool is_input(const Tensor& t) const { return inputs_.count(t.impl()) != 0; }
  void add_memory(const Tensor& t, nb::handle tensor);

  std::unordered_map<PyObject*, bool> wanted_;  // -> is a leaf; by_memory_ keeps the Tensors alive
  std::vector<std::pair<nb::object, Tensor>> given_;
  std::unordered_multimap<const void*, std::pair<nb::object, Tensor>> by_memory_;
  std::unordered_multimap<const void*, Tensor> turned_;
  std::vector<nb::object> tensors_;
  std::vector<Tensor> natives_;
  std::vector<Value> objects_;  // the objects that were passed
  nb::list memory_;
  std::unordered_set<const TensorImpl*> inputs_;  // those of natives_
  std::unique_ptr<Record> record_ = std::make_unique<Record>();
};

}  // namespace scriptlang::python
