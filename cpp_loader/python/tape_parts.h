// The classes of Python's tape, with the offsets of their attributes, and what files of the tape do
// with tensors and states.
#pragma once

#include <nanobind/nanobind.h>

#include "member.h"
#include "names.h"

namespace scriptlang::python {

namespace nb = nanobind;

// The classes, with the offsets of their attributes.
struct Tape {
  nb::object rule_node, leaf_node, slices_node, state, saved, shape, numbers, mode;
  nb::object edge_of, read, keep, size_of, fitted, check_time, lists;
  // Those of Node are at the same places in all nodes.
  Member n_edges{rule_node, "edges"}, n_number{rule_node, "number"},
      n_results{rule_node, "results"}, n_tensor_hooks{rule_node, "tensor_hooks"},
      n_kept{rule_node, "kept"}, n_before{rule_node, "before"}, n_after{rule_node, "after"},
      n_metadata{rule_node, "metadata_"}, n_fits{rule_node, "fits"}, n_listed{rule_node, "listed"},
      n_places{rule_node, "places"}, n_plan{rule_node, "plan"}, n_saved{rule_node, "saved"},
      n_where{rule_node, "where"};
  Member l_variable{leaf_node, "variable"};
  Member s_accumulator{state, "accumulator"}, s_after_hooks{state, "after_hooks"},
      s_base{state, "base"}, s_cell{state, "cell"}, s_grad{state, "grad"}, s_hooks{state, "hooks"},
      s_is_given{state, "is_given"}, s_is_inference{state, "is_inference"}, s_made{state, "made"},
      s_node{state, "node"}, s_output_nr{state, "output_nr"}, s_replay{state, "replay"},
      s_retains{state, "retains"}, s_source{state, "source"}, s_tangents{state, "tangents"},
      s_version{state, "version"};
  Member k_edge{saved, "edge"}, k_hooks{saved, "hooks"}, k_is_result{saved, "is_result"},
      k_output_nr{saved, "output_nr"}, k_packed{saved, "packed"}, k_tensor{saved, "tensor"},
      k_version{saved, "version"};
  Member h_dtype{shape, "dtype"}, h_offset{shape, "offset"}, h_size{shape, "size"},
      h_stride{shape, "stride"};
  Member m_version{known().storage, "version"};
  nb::object no_text = interned(""), no_grad = interned("no_grad"), several = interned("several"),
             is_bare = interned("is_bare"), function = interned("function"),
             recipe = interned("recipe"), hook = interned("hook"),
             hook_before = interned("hook_before"), take = interned("take"),
             capture = interned("capture"), apply = interned("apply"), turn = interned("turn"),
             zero = nb::steal(PyLong_FromLong(0)), one = nb::steal(PyLong_FromLong(1)),
             // AccumulateGrad runs before all others: it has the highest number
      highest = nb::steal(PyLong_FromLongLong(1LL << 62)), no_edges = nb::steal(PyTuple_New(0));
};
extern Tape* tape;  // null until something is recorded

inline nb::object held(nb::handle value) { return nb::borrow(value); }
inline bool is_true(const Member& member, nb::handle object) { return member.is(object, Py_True); }

// Whether an attribute is a dict with something in it.
bool is_filled(const Member& member, nb::handle object);

bool is_a_tensor(nb::handle value);

// Whether a tensor requires a gradient, or is a view of one that does.
bool requires_gradient(nb::handle tensor);

// A new instance whose attributes are not set.
nb::object bare_node(const nb::object& cls);

// The state of a tensor: null if it has none; made if it has none.
nb::object state_of(nb::handle tensor);
nb::object state_made_of(nb::handle tensor);

// How often the memory of a tensor was written.
nb::object version_of(nb::handle tensor, const nb::object& state);

// The edge that a gradient of the tensor flows along; None if it requires none.
nb::object edge_of(nb::handle tensor);

// Another tensor over the same memory, without history. counts: writes to one count for both.
nb::object alias_of(nb::handle tensor, bool counts);

// What keeps a tensor: an input with its edge, or a result by its number, which is else -1.
nb::object saved_of(nb::handle tensor, nb::object edge, int result);
nb::object shape_of(nb::handle tensor);
nb::object size_of(nb::handle tensor);  // as a list

}  // namespace scriptlang::python
