// Makes and runs nodes of Python's tape.
#include "tape.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "convert.h"
#include "eager.h"
#include "grad_mode.h"
#include "member.h"
#include "names.h"
#include "stable.h"
#include "values/tensor.h"

namespace scriptlang::python {

namespace {

// The classes, with the offsets of their attributes.
struct Tape {
  nb::object rule_node, leaf_node, slices_node, state, saved, shape, numbers, mode;
  nb::object edge_of, read, fitted, check_time;
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
  nb::object no_text = interned(""), no_grad = interned("no_grad"), is_bare = interned("is_bare"),
             function = interned("function"), recipe = interned("recipe"), hook = interned("hook"),
             hook_before = interned("hook_before"), take = interned("take"),
             apply = interned("apply"), turn = interned("turn"),
             zero = nb::steal(PyLong_FromLong(0)), one = nb::steal(PyLong_FromLong(1)),
             // AccumulateGrad runs before all others: it has the highest number
      highest = nb::steal(PyLong_FromLongLong(1LL << 62)), no_edges = nb::steal(PyTuple_New(0));
};
Tape* tape = nullptr;

nb::object bare(const nb::object& cls) {
  PyObject* made = PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(cls.ptr()), 0);
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

nb::object held(nb::handle value) { return nb::borrow(value); }

bool is_true(const Member& member, nb::handle object) { return member.is(object, Py_True); }

// The state of a tensor; null if it has none.
nb::object state_of(nb::handle tensor) {
  const Names& n = known();
  if (n.m_autograd.is(tensor, Py_None)) return {};
  return held(n.m_autograd.get(tensor));
}

nb::object made_state(nb::handle tensor) {
  const Tape& t = *tape;
  nb::object made = bare(t.state);
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

// How often the memory of a tensor was written.
nb::object version_of(nb::handle tensor, const nb::object& state) {
  if (state.is_valid() && !tape->s_cell.is(state, Py_None)) {
    return nb::borrow<nb::list>(held(tape->s_cell.get(state)))[0];
  }
  const nb::object storage = held(known().m_storage.get(tensor));
  const nb::object found = tape->m_version.find(storage);
  return found.is_valid() ? found : tape->zero;
}

nb::object edge(nb::object node, nb::object number) { return nb::make_tuple(node, number); }

// The node of a leaf.
nb::object accumulator_of(nb::handle leaf) {
  const Tape& t = *tape;
  nb::object state = state_made_of(leaf);
  if (!t.s_accumulator.is(state, Py_None)) {
    nb::object there =
        nb::steal(PyObject_CallNoArgs(nb::object(held(t.s_accumulator.get(state))).ptr()));
    if (!there.is_valid()) throw nb::python_error();
    if (!there.is_none()) return there;
  }
  nb::object made = bare(t.leaf_node);
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

// The edge that a gradient of the tensor flows along; None if it requires none.
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

// Another tensor over the same memory, without history. counts: writes to one count for both.
nb::object alias_of(nb::handle tensor, bool counts) {
  const Names& n = known();
  nb::object made = bare(n.tensor);
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

// What keeps a tensor: an input with its edge, or a result by its number.
nb::object saved_of(nb::handle tensor, nb::object edge, int result) {
  const Tape& t = *tape;
  nb::object made = bare(t.saved);
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
  nb::object made = bare(t.shape);
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

bool is_a_tensor(nb::handle value) {
  return value.is_valid() && !value.is_none() && is_a(value, known().tensor);
}

bool may_have_gradient(nb::handle tensor) {
  const ScalarType type = dtype_from_python(known().m_dtype.get(tensor));
  return is_floating(type) || is_complex(type);
}

void put(const nb::object& saved, const nb::object& key, const nb::object& value) {
  if (PyDict_SetItem(saved.ptr(), key.ptr(), value.ptr()) != 0) throw nb::python_error();
}

nb::handle find(nb::handle saved, const nb::object& key) {
  PyObject* found = PyDict_GetItemWithError(saved.ptr(), key.ptr());
  if (!found && PyErr_Occurred()) throw nb::python_error();
  return found;
}

// While it exists, what operators make is for a rule: nothing is noted.
class Bare {
 public:
  Bare() : was_(eager_mode.is_bare) {
    set(tape->mode.ptr(), tape->is_bare, nb::bool_(true));
    eager_mode.is_bare = true;
  }
  ~Bare() {
    eager_mode.is_bare = was_;
    if (PyObject_SetAttr(tape->mode.ptr(), tape->is_bare.ptr(), was_ ? Py_True : Py_False) != 0) {
      PyErr_Clear();
    }
  }

 private:
  bool was_;
};

}  // namespace

void watch_tape(nb::dict known) {
  clear_tape();
  auto at = [&](const char* name) { return nb::object(known[name]); };
  tape = new Tape{at("RuleNode"), at("AccumulateGrad"), at("CopySlices"), at("State"),
                  at("Saved"),    at("Shape"),          at("numbers"),    at("mode"),
                  at("edge_of"),  at("read"),           at("fitted"),     at("check_time")};
}

void clear_tape() {
  delete tape;
  tape = nullptr;
}

Recipe::Recipe(nb::object plan, nb::object node_class, std::vector<int> inputs,
               std::vector<int> counted, nb::dict places, int results, int view, bool is_none,
               nb::list readings)
    : plan_(plan),
      node_class_(node_class),
      inputs_(std::move(inputs)),
      counted_(std::move(counted)),
      places_(places),
      results_(results),
      view_(view),
      is_none_(is_none) {
  for (nb::handle told : readings) {
    Reading reading;
    reading.expression = told[0];
    reading.inputs = nb::cast<std::vector<int>>(told[1]);
    for (nb::handle name : nb::borrow<nb::list>(told[2])) {
      reading.names.push_back({nb::cast<std::string>(name[0])[0], nb::cast<int>(name[1]),
                               nb::object(name[2]), nb::object(name[3])});
    }
    readings_.push_back(std::move(reading));
  }
}

// ---- recording

std::optional<bool> RecordedCall::is_wanted() const {
  if (!tape) return std::nullopt;
  const Names& n = known();
  bool wanted = false;
  for (size_t k = 0; k < count_; ++k) {
    nb::handle tensor = arguments_[k];
    if (!is_a_tensor(tensor)) continue;
    nb::object state = state_of(tensor);
    if (!state.is_valid()) continue;
    if (is_true(tape->s_is_inference, state)) return std::nullopt;
    // A view may require a gradient since its base does.
    if (!tape->s_base.is(state, Py_None) && !n.m_grad.is(tensor, Py_True)) return std::nullopt;
  }
  if (recipe_.is_none_ || !grad_enabled) return false;
  for (int k : recipe_.counted_) {
    nb::handle tensor = argument(k);
    if (tensor.is_valid() && !tensor.is_none()) wanted |= n.m_grad.is(tensor, Py_True);
  }
  return wanted;
}

void RecordedCall::keep(const Value* values) {
  kept_.resize(count_);
  for (const Recipe::Reading& reading : recipe_.readings_) {
    for (const Recipe::Name& name : reading.names) {
      const size_t k = size_t(name.number);
      if (name.kind != 'a' || values[k].tag() == Tag::Tensor || kept_[k].is_valid()) continue;
      kept_[k] = ToPython()(values[k]);
    }
  }
}

bool RecordedCall::is_argument(nb::handle value) const {
  for (size_t k = 0; k < count_; ++k) {
    if (arguments_[k].is(value)) return true;
  }
  return false;
}

nb::object RecordedCall::node(const nb::object& result) const {
  const Tape& t = *tape;
  const Names& n = known();
  nb::list edges, fits;
  std::vector<nb::object> edge_at(count_);
  for (int i : recipe_.inputs_) {
    nb::handle tensor = argument(i);
    nb::object found = is_a_tensor(tensor) ? edge_of(tensor) : nb::none();
    edges.append(found);
    if (found.is_none()) {
      fits.append(nb::none());
    } else {
      edge_at[size_t(i)] = found;
      fits.append(nb::make_tuple(held(n.m_size.get(tensor)), held(n.m_dtype.get(tensor))));
    }
  }
  nb::object made = bare(recipe_.node_class_);
  PyObject* p = made.ptr();
  nb::object number = nb::steal(PyIter_Next(t.numbers.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  nb::dict saved;
  t.n_edges.set(p, edges);
  t.n_number.set(p, number);
  t.n_results.set(p, nb::steal(PyLong_FromLong(recipe_.results_)));
  for (const Member* empty :
       {&t.n_tensor_hooks, &t.n_kept, &t.n_before, &t.n_after, &t.n_metadata, &t.n_where}) {
    empty->set(p, nb::none());
  }
  t.n_fits.set(p, fits);
  t.n_listed.set(p, nb::bool_(false));
  t.n_places.set(p, recipe_.places_);
  t.n_plan.set(p, recipe_.plan_);
  t.n_saved.set(p, saved);
  auto of_result = [&](int k) {
    return recipe_.results_ > 1 ? nb::object(nb::borrow<nb::tuple>(result)[k]) : result;
  };
  for (const Recipe::Reading& reading : recipe_.readings_) {
    bool has_edge = false;
    for (int i : reading.inputs) has_edge |= edge_at[size_t(i)].is_valid();
    if (!has_edge) continue;
    for (const Recipe::Name& name : reading.names) {
      nb::handle value = name.kind == 'a' || name.kind == 's' || name.kind == 'z'
                             ? argument(name.number)
                             : nb::handle();
      if (!value.is_valid()) value = Py_None;
      switch (name.kind) {
        case 'a':
        case 's':
          if (name.kind == 's' && find(saved, name.other).is_valid()) break;
          if (!is_a_tensor(value)) {
            const nb::object& kept = kept_[size_t(name.number)];
            put(saved, name.key, kept.is_valid() ? kept : nb::none());
          } else if (name.kind == 's') {
            put(saved, name.key, shape_of(value));
          } else {
            const nb::object& known_edge = edge_at[size_t(name.number)];
            put(saved, name.key,
                saved_of(value, known_edge.is_valid() ? known_edge : edge_of(value), -1));
          }
          break;
        case 'z': put(saved, name.key, size_of(value)); break;
        case 'r':
        case 'h': {
          nb::object r = of_result(name.number);
          if (!is_a_tensor(r)) put(saved, name.key, r);
          else if (name.kind == 'h') put(saved, name.key, shape_of(r));
          else put(saved, name.key, saved_of(r, nb::none(), name.number));
          break;
        }
        case 'y': put(saved, name.key, size_of(of_result(name.number))); break;
        default: break;
      }
    }
  }
  return made;
}

void RecordedCall::note_view(nb::handle view, nb::handle source) const {
  const Tape& t = *tape;
  nb::object of_source = state_of(source);
  nb::object state = state_made_of(view);
  PyObject* p = state.ptr();
  nb::object base = held(source), followed = held(source);
  if (!grad_enabled) t.s_made.set(p, t.no_grad);
  if (of_source.is_valid()) {
    if (!t.s_base.is(of_source, Py_None)) {
      base = held(t.s_base.get(of_source));
      if (grad_enabled) t.s_made.set(p, held(t.s_made.get(of_source)));
    }
    t.s_cell.set(p, held(t.s_cell.get(of_source)));
    if (!t.s_source.is(of_source, Py_None)) followed = held(t.s_source.get(of_source));
  }
  t.s_source.set(p, followed);
  t.s_base.set(p, base);
  t.s_version.set(p, version_of(view, state));
}

void RecordedCall::note(const nb::object& result, bool is_wanted) const {
  const Tape& t = *tape;
  const Names& n = known();
  if (recipe_.view_ >= 0) {
    nb::handle source = argument(recipe_.view_);
    const nb::object storage = held(n.m_storage.get(source));
    if (!result.is(source) && n.m_storage.is(result, storage)) note_view(result, source);
  }
  if (!is_wanted) return;
  const bool several = recipe_.results_ > 1;
  if (!several && is_argument(result)) return;
  nb::object made = node(result);
  for (int k = 0; k < recipe_.results_; ++k) {
    nb::object r = several ? nb::object(nb::borrow<nb::tuple>(result)[k]) : result;
    if (!is_a_tensor(r) || !may_have_gradient(r) || is_argument(r)) continue;
    nb::object state = state_made_of(r);
    t.s_node.set(state.ptr(), made);
    t.s_output_nr.set(state.ptr(), nb::steal(PyLong_FromLong(k)));
    t.s_version.set(state.ptr(), version_of(r, state));
    n.m_grad.set(r.ptr(), nb::bool_(true));
  }
}

// ---- going back

// Whether a tensor that was an input still has the edge that it had.
static bool has_edge(nb::handle tensor, nb::handle edge) {
  const Tape& t = *tape;
  if (edge.is_none()) return true;
  nb::object state = state_of(tensor);
  if (!state.is_valid() || !t.s_base.is(state, Py_None)) return false;
  const nb::object node = nb::object(edge[0]);
  if (!t.s_node.is(state, Py_None)) {
    return t.s_node.is(state, node) && nb::object(edge[1]).equal(held(t.s_output_nr.get(state)));
  }
  if (t.s_accumulator.is(state, Py_None)) return false;
  return nb::object(held(t.s_accumulator.get(state)))().is(node);
}

nb::object Recipe::value_of(const Name& name, nb::handle node, nb::handle saved, nb::list grads,
                            const nb::list& needs) const {
  const Tape& t = *tape;
  if (name.kind == 'g') return grads[name.number];
  if (name.kind == 'n') return needs;
  nb::handle kept = find(saved, name.key);
  if (!kept.is_valid()) kept = find(saved, name.other);
  if (!kept.is_valid()) throw nb::key_error("a node has not kept what its rule reads");
  if (kept.type().is(t.saved)) {
    if (t.k_hooks.is(kept, Py_None)) {
      nb::object tensor = held(t.k_tensor.get(kept));
      const bool is_same = held(t.k_version.get(kept)).equal(version_of(tensor, state_of(tensor)));
      if (is_same && (is_true(t.k_is_result, kept) || has_edge(tensor, t.k_edge.get(kept)))) {
        return tensor;
      }
    }
    return t.read(kept, node);
  }
  if (kept.type().is(t.shape) || PyList_Check(kept.ptr())) return t.read(kept, node);
  return held(kept);
}

nb::list Recipe::apply(nb::handle node, nb::list grads, nb::list wanted) {
  const Tape& t = *tape;
  const Names& n = known();
  nb::object saved = held(t.n_saved.get(node));
  nb::list fits = nb::borrow<nb::list>(held(t.n_fits.get(node)));
  nb::list made;
  for (size_t k = 0; k < fits.size(); ++k) made.append(nb::none());
  for (Reading& reading : readings_) {
    nb::list needs;
    std::vector<size_t> places;
    bool any = false;
    for (int i : reading.inputs) {
      nb::object place = places_[nb::int_(i)];
      places.push_back(size_t(int_of(place)));
      nb::object need = nb::object(wanted[places.back()]);
      any |= need.is(nb::bool_(true));
      needs.append(need);
    }
    if (!any) continue;
    nb::object values = nb::steal(PyTuple_New(Py_ssize_t(reading.names.size())));
    if (!values.is_valid()) throw nb::python_error();
    for (size_t k = 0; k < reading.names.size(); ++k) {
      nb::object value = value_of(reading.names[k], node, saved, grads, needs);
      PyTuple_SET_ITEM(values.ptr(), Py_ssize_t(k), value.release().ptr());
    }
    if (!reading.function.is_valid()) reading.function = get(reading.expression, t.function);
    Bare while_running;
    nb::object result = nb::steal(PyObject_CallObject(reading.function.ptr(), values.ptr()));
    if (!result.is_valid()) throw nb::python_error();
    values.reset();
    for (size_t k = 0; k < places.size(); ++k) {
      nb::object part = places.size() > 1 ? nb::object(result[k]) : result;
      if (part.is_none() || !nb::object(needs[k]).is(nb::bool_(true))) continue;
      nb::object fit = fits[places[k]];
      if (fit.is_none()) continue;
      const nb::object size = fit[0], dtype = fit[1];
      const bool fits_well =
          n.m_dtype.is(part, dtype) && nb::object(held(n.m_size.get(part))).equal(size);
      made[places[k]] = fits_well ? part : t.fitted(part, size, dtype);
    }
  }
  return made;
}

// ---- the backward pass

namespace {

nb::object call_method(nb::handle object, const nb::object& name, nb::handle a, nb::handle b) {
  nb::object made =
      nb::steal(PyObject_CallMethodObjArgs(object.ptr(), name.ptr(), a.ptr(), b.ptr(), nullptr));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

// Whether an attribute is a dict with something in it.
bool is_filled(const Member& member, nb::handle object) {
  if (member.is(object, Py_None)) return false;
  return PyObject_IsTrue(nb::object(held(member.get(object))).ptr()) == 1;
}

// The strides of a tensor whose elements lie row by row.
bool is_row_major(nb::handle tensor) {
  const nb::object size = held(known().m_size.get(tensor)),
                   stride = held(known().m_stride.get(tensor));
  int64_t step = 1;
  for (Py_ssize_t k = PyTuple_GET_SIZE(size.ptr()); k-- > 0;) {
    if (int_of(PyTuple_GET_ITEM(stride.ptr(), k)) != step) return false;
    step *= std::max<int64_t>(int_of(PyTuple_GET_ITEM(size.ptr(), k)), 1);
  }
  return true;
}

class Pass {
 public:
  Pass(nb::object walk, bool keeps, bool records) : walk_(walk), keeps_(keeps), records_(records) {}

  // Finds all nodes, and counts the edges that lead to each. Returns false if this class does not
  // know one of them.
  bool find(const nb::list& roots) {
    std::vector<Entry*> pending;
    for (nb::handle root : roots) {
      Entry* entry = nullptr;
      if (!add(nb::object(root[0]), &entry)) return false;
      if (entry) pending.push_back(entry);
    }
    while (!pending.empty()) {
      Entry* source = pending.back();
      pending.pop_back();
      for (nb::handle edge : edges_of(source->node)) {
        if (edge.is_none()) continue;
        Entry* fresh = nullptr;
        nb::object target(edge[0]);
        if (!add(target, &fresh)) return false;
        if (fresh) pending.push_back(fresh);
        ++entries_.find(target.ptr())->second.waiting;
      }
    }
    return true;
  }

  void start(const nb::list& roots, const nb::list& grads) {
    size_t k = 0;
    for (nb::handle root : roots) {
      nb::object grad = grads[k++];
      if (!grad.is_none()) receive(entry_of(root[0]), nb::cast<size_t>(root[1]), grad);
    }
    for (nb::handle root : roots) {
      Entry& entry = entry_of(root[0]);
      if (entry.waiting == 0 && !entry.is_pushed) push(&entry);
    }
  }

  void run() {
    const Tape& t = *tape;
    while (!heap_.empty()) {
      Entry* entry = heap_.top().entry;
      heap_.pop();
      if (!nb::steal(PyObject_CallNoArgs(t.check_time.ptr())).is_valid()) throw nb::python_error();
      if (grad_enabled != records_) t.mode.attr(t.turn)(records_);
      step(*entry);
    }
  }

 private:
  struct Entry {
    nb::object node;
    int64_t number = 0, waiting = 0;
    bool is_pushed = false;
    std::vector<nb::object> grads;
  };
  struct Ready {
    int64_t number, pushed;
    Entry* entry;
    // Those made last first; of leaves, which have one number, those that are ready first.
    bool operator<(const Ready& other) const {
      return number != other.number ? number < other.number : pushed > other.pushed;
    }
  };

  static nb::object edges_of(nb::handle node) { return held(tape->n_edges.get(node)); }
  static bool is_leaf(nb::handle node) { return node.type().is(tape->leaf_node); }

  // fresh: the entry if it is a new one.
  bool add(nb::object node, Entry** fresh) {
    if (node.type().is(tape->slices_node)) return false;
    auto [place, is_new] = entries_.try_emplace(node.ptr());
    if (!is_new) return true;
    Entry& entry = place->second;
    entry.number = int_of(tape->n_number.get(node));
    entry.grads.resize(size_t(int_of(tape->n_results.get(node))));
    entry.node = std::move(node);
    *fresh = &entry;
    return true;
  }

  Entry& entry_of(nb::object node) { return entries_.find(node.ptr())->second; }

  void push(Entry* entry) {
    entry->is_pushed = true;
    heap_.push({entry->number, ++pushed_, entry});
  }

  void receive(Entry& entry, size_t number, nb::object grad) {
    if (number >= entry.grads.size()) throw nb::index_error("a node has no such result");
    nb::object& slot = entry.grads[number];
    if (!slot.is_valid()) {
      slot = std::move(grad);
      return;
    }
    nb::object sum = nb::steal(PyNumber_Add(slot.ptr(), grad.ptr()));
    if (!sum.is_valid()) throw nb::python_error();
    slot = std::move(sum);
  }

  // The results of the pass at one node go to the next ones.
  void step(Entry& entry) {
    const Tape& t = *tape;
    nb::object node = entry.node;
    nb::list grads;
    bool any = false;
    for (nb::object& grad : entry.grads) {
      any |= grad.is_valid();
      grads.append(grad.is_valid() ? std::move(grad) : nb::none());
    }
    entry.grads.clear();
    if (is_leaf(node)) {
      take(node, grads);
      return;
    }
    if (is_filled(t.n_tensor_hooks, node) || is_filled(t.n_kept, node)) {
      call_method(walk_, t.hook, node, grads);
    }
    if (is_filled(t.n_before, node)) call_method(walk_, t.hook_before, node, grads);
    nb::object made = applied(node, grads, any);
    const nb::object edges = edges_of(node);
    const size_t count = nb::len(made);
    size_t k = 0;
    for (nb::handle edge : edges) {
      const size_t at = k++;
      if (edge.is_none()) continue;
      Entry& target = entry_of(edge[0]);
      if (at < count) {
        nb::object grad(made[at]);
        if (!grad.is_none()) receive(target, nb::cast<size_t>(edge[1]), std::move(grad));
      }
      if (--target.waiting == 0) push(&target);
    }
  }

  nb::object applied(nb::handle node, nb::list grads, bool any) {
    const Tape& t = *tape;
    const bool is_ruled = PyObject_IsInstance(node.ptr(), t.rule_node.ptr()) == 1;
    if (!is_ruled || records_ || !any || t.n_saved.is(node, Py_None) ||
        is_filled(t.n_after, node) || eager_mode.is_followed) {
      return call_method(walk_, t.apply, node, grads);
    }
    nb::object recipe = get(nb::object(held(t.n_plan.get(node))), t.recipe);
    if (recipe.is_none()) return call_method(walk_, t.apply, node, grads);
    nb::list wanted;
    for (nb::handle edge : edges_of(node)) wanted.append(nb::bool_(!edge.is_none()));
    nb::list made = nb::inst_ptr<Recipe>(recipe)->apply(node, grads, wanted);
    if (!keeps_) release(node);
    return made;
  }

  // Frees what a node has saved, if that is memory.
  static void release(nb::handle node) {
    const Tape& t = *tape;
    nb::object saved = held(t.n_saved.get(node));
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(saved.ptr(), &at, &key, &value);) {
      if (!nb::handle(value).type().is(t.saved)) continue;
      t.n_saved.set(node.ptr(), nb::none());
      return;
    }
  }

  // A leaf's gradient becomes its `grad`.
  void take(nb::handle node, nb::list grads) {
    const Tape& t = *tape;
    const Names& n = known();
    nb::object leaf = held(t.l_variable.get(node));
    nb::object state = state_of(leaf);
    if (state.is_valid() && is_filled(t.s_hooks, state)) {
      call_method(walk_, t.hook, node, grads);
    }
    if (is_filled(t.n_before, node)) call_method(walk_, t.hook_before, node, grads);
#if !defined(NB_FREE_THREADED)  // where there is a GIL, nobody else has a turn meanwhile
    PyObject* grad = PyList_GET_ITEM(grads.ptr(), 0);
    if (!records_ && grad != Py_None && state.is_valid() && t.s_grad.is(state, Py_None) &&
        !is_filled(t.s_after_hooks, state) && !is_filled(t.n_after, node) && Py_REFCNT(grad) == 1 &&
        Py_REFCNT(nb::handle(n.m_storage.get(grad)).ptr()) == 1 &&
        int_of(n.m_offset.get(grad)) == 0 && is_row_major(leaf) &&
        nb::object(held(n.m_stride.get(grad))).equal(held(n.m_stride.get(leaf)))) {
      t.s_grad.set(state.ptr(), alias_of(grad, false));
      return;
    }
#endif
    call_method(walk_, t.take, node, grads);
  }

  nb::object walk_;
  bool keeps_, records_;
  std::unordered_map<PyObject*, Entry> entries_;
  std::priority_queue<Ready> heap_;
  int64_t pushed_ = 0;
};

}  // namespace

bool go_back(nb::object walk, nb::list roots, nb::list grads, bool keeps, bool records) {
  if (!tape) return false;
  Pass pass(walk, keeps, records);
  if (!pass.find(roots)) return false;
  pass.start(roots, grads);
  pass.run();
  return true;
}

}  // namespace scriptlang::python
