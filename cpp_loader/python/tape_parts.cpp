// What files of the tape do with tensors and states.
#include "tape_parts.h"

#include "stable.h"
#include "tape.h"

namespace scriptlang::python {

Tape* tape = nullptr;

void watch_tape(nb::dict known) {
  clear_tape();
  auto at = [&](const char* name) { return nb::object(known[name]); };
  tape = new Tape{at("RuleNode"), at("AccumulateGrad"), at("CopySlices"), at("State"),
                  at("Saved"),    at("Shape"),          at("numbers"),    at("mode"),
                  at("edge_of"),  at("read"),           at("keep"),       at("size_of"),
                  at("fitted"),   at("check_time"),     at("Lists")};
}

void clear_tape() {
  delete tape;
  tape = nullptr;
}

bool is_filled(const Member& member, nb::handle object) {
  if (member.is(object, Py_None)) return false;
  return PyObject_IsTrue(nb::object(held(member.get(object))).ptr()) == 1;
}

nb::object bare_node(const nb::object& cls) {
  PyObject* made = PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(cls.ptr()), 0);
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

nb::object state_of(nb::handle tensor) {
  const Names& n = known();
  if (n.m_autograd.is(tensor, Py_None)) return {};
  return held(n.m_autograd.get(tensor));
}

static nb::object made_state(nb::handle tensor) {
  const Tape& t = *tape;
  nb::object made = bare_node(t.state);
  PyObject* p = made.ptr();
  for (const Member* empty : {&t.s_accumulator, &t.s_after_hooks, &t.s_base, &t.s_cell, &t.s_grad,
                              &t.s_hooks, &t.s_node, &t.s_replay, &t.s_source, &t.s_tangents}) {
    empty->set(p, nb::none());
  }
  for (const Member* no : {&t.s_is_given, &t.s_is_inference, &t.s_retains}) {
    no->set(p, nb::bool_(false));
  }
  t.s_made.set(p, t.no_text);
  t.s_output_nr.set(p, t.zero);
  t.s_version.set(p, t.zero);
  known().m_autograd.set(tensor.ptr(), made);
  return made;
}

nb::object state_made_of(nb::handle tensor) {
  nb::object there = state_of(tensor);
  return there.is_valid() ? there : made_state(tensor);
}

nb::object version_of(nb::handle tensor, const nb::object& state) {
  if (state.is_valid() && !tape->s_cell.is(state, Py_None)) {
    return nb::borrow<nb::list>(held(tape->s_cell.get(state)))[0];
  }
  const nb::object storage = held(known().m_storage.get(tensor));
  const nb::object found = tape->m_version.find(storage);
  return found.is_valid() ? found : tape->zero;
}

static nb::object edge(nb::object node, nb::object number) { return nb::make_tuple(node, number); }

// The node of a leaf.
static nb::object accumulator_of(nb::handle leaf) {
  const Tape& t = *tape;
  nb::object state = state_made_of(leaf);
  if (!t.s_accumulator.is(state, Py_None)) {
    nb::object there =
        nb::steal(PyObject_CallNoArgs(nb::object(held(t.s_accumulator.get(state))).ptr()));
    if (!there.is_valid()) throw nb::python_error();
    if (!there.is_none()) return there;
  }
  nb::object made = bare_node(t.leaf_node);
  PyObject* p = made.ptr();
  t.n_edges.set(p, t.no_edges);
  t.n_number.set(p, t.highest);
  t.n_results.set(p, t.one);
  for (const Member* empty :
       {&t.n_tensor_hooks, &t.n_kept, &t.n_before, &t.n_after, &t.n_metadata}) {
    empty->set(p, nb::none());
  }
  t.l_variable.set(p, held(leaf));
  nb::object weak = nb::steal(PyWeakref_NewRef(p, nullptr));
  if (!weak.is_valid()) throw nb::python_error();
  t.s_accumulator.set(state.ptr(), weak);
  return made;
}

nb::object edge_of(nb::handle tensor) {
  const Tape& t = *tape;
  nb::object state = state_of(tensor);
  if (state.is_valid()) {
    if (!t.s_base.is(state, Py_None)) return t.edge_of(tensor);
    if (!t.s_node.is(state, Py_None)) {
      return edge(held(t.s_node.get(state)), held(t.s_output_nr.get(state)));
    }
  }
  if (!known().m_grad.is(tensor, Py_True)) return nb::none();
  return edge(accumulator_of(tensor), t.zero);
}

nb::list edges_of(nb::list tensors) {
  nb::list made;
  for (nb::handle tensor : tensors) made.append(edge_of(tensor));
  return made;
}

nb::object alias_of(nb::handle tensor, bool counts) {
  const Names& n = known();
  nb::object made = bare_node(n.tensor);
  PyObject* p = made.ptr();
  n.m_storage.set(p, held(n.m_storage.get(tensor)));
  n.m_dtype.set(p, held(n.m_dtype.get(tensor)));
  n.m_size.set(p, held(n.m_size.get(tensor)));
  n.m_stride.set(p, held(n.m_stride.get(tensor)));
  n.m_offset.set(p, held(n.m_offset.get(tensor)));
  n.m_grad.set(p, nb::bool_(false));
  n.m_view.set(p, nb::none());
  n.m_trace.set(p, nb::none());
  n.m_autograd.set(p, nb::none());
  nb::object state = counts ? state_of(tensor) : nb::object();
  if (state.is_valid() && !tape->s_cell.is(state, Py_None)) {
    tape->s_cell.set(made_state(made).ptr(), held(tape->s_cell.get(state)));
  }
  return made;
}

nb::object saved_of(nb::handle tensor, nb::object edge, int result) {
  const Tape& t = *tape;
  nb::object made = bare_node(t.saved);
  PyObject* p = made.ptr();
  const bool is_result = result >= 0;
  t.k_edge.set(p, std::move(edge));
  t.k_hooks.set(p, nb::none());
  t.k_is_result.set(p, nb::bool_(is_result));
  t.k_output_nr.set(p, is_result ? nb::steal(PyLong_FromLong(result)) : t.zero);
  t.k_packed.set(p, nb::none());
  t.k_tensor.set(p, is_result ? alias_of(tensor, true) : held(tensor));
  t.k_version.set(p, version_of(tensor, state_of(tensor)));
  return made;
}

nb::object shape_of(nb::handle tensor) {
  const Tape& t = *tape;
  const Names& n = known();
  nb::object made = bare_node(t.shape);
  t.h_dtype.set(made.ptr(), held(n.m_dtype.get(tensor)));
  t.h_size.set(made.ptr(), held(n.m_size.get(tensor)));
  t.h_stride.set(made.ptr(), held(n.m_stride.get(tensor)));
  t.h_offset.set(made.ptr(), held(n.m_offset.get(tensor)));
  return made;
}

nb::object size_of(nb::handle tensor) {
  if (!tensor.is_valid() || tensor.is_none()) return nb::list();
  nb::object made = nb::steal(PySequence_List(nb::object(held(known().m_size.get(tensor))).ptr()));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

bool requires_gradient(nb::handle tensor) {
  if (known().m_grad.is(tensor, Py_True)) return true;
  nb::object state = state_of(tensor);
  if (!state.is_valid() || !tape || tape->s_base.is(state, Py_None)) return false;
  const nb::object base = held(tape->s_base.get(state));  // which is no view itself
  return known().m_grad.is(base, Py_True);
}

bool is_a_tensor(nb::handle value) {
  return value.is_valid() && !value.is_none() && is_a(value, known().tensor);
}

}  // namespace scriptlang::python
