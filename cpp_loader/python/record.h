// A recorded call of a program, which is one node of Python's graph of derivatives.
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

// inputs: where the gradients of the Tensors go that the call was given, or found in its objects.
// outputs: tensors that it computed of them.
struct Record {
  std::vector<autograd::Edge> inputs;
  std::vector<Tensor> outputs;

  // Of the gradients of the outputs, None for those that have none, those of the inputs: a list, in
  // which those that are not `wanted` are None. creates: they can be differentiated. Then there is
  // a Record of that, too, whose inputs are the gradients that require one, given by their places,
  // and then those of this Record, and whose outputs are in the list at these places.
  // (gradients, record or None, places among the gradients, places in the list)
  nb::tuple backward(nb::list gradients, nb::list wanted, bool creates);
};

// Makes a record of the inputs of a call, as they are converted.
class Recording {
 public:
  // wanted: the Tensors whose gradients are wanted; leaves: whether each is a leaf.
  Recording(nb::list wanted, nb::list leaves);

  // The Tensors that were converted, and those that lie in objects of the engine.
  void take(const ToNative& convert, const std::vector<Value>& values);

  // After the run: what it gave. (record or None, Tensors of the inputs, Tensors of the outputs,
  // Tensors of the inputs that were written, those that the program made require a gradient)
  nb::tuple finish(const Value& result, ToPython& convert);

 private:
  void add(nb::handle tensor, const Tensor& t);
  void find(const Value& value);
  void add_input(nb::object tensor, const Tensor& t);
  bool is_input(const Tensor& t) const { return inputs_.count(t.impl()) != 0; }

  std::unordered_map<PyObject*, bool> wanted_;  // whether each is a leaf; by_memory_ keeps them
  std::vector<std::pair<nb::object, Tensor>> given_;
  std::unordered_multimap<const void*, std::pair<nb::object, Tensor>> by_memory_;
  std::vector<nb::object> tensors_;
  std::vector<Tensor> natives_;
  std::unordered_set<const TensorImpl*> inputs_;  // the same
  std::unique_ptr<Record> record_ = std::make_unique<Record>();
};

}  // namespace scriptlang::python
