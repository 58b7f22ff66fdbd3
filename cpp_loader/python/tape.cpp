// Records calls of operators as nodes of Python's tape, and runs the rules of nodes.
#include "tape.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "convert.h"
#include "eager.h"
#include "grad_mode.h"
#include "stable.h"
#include "tape_parts.h"
#include "values/tensor.h"

namespace scriptlang::python {

namespace {

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

Recipe::Recipe(nb::object plan, nb::object node_class, std::vector<int> inputs,
               std::vector<int> counted, int results, int view, bool is_none, nb::list readings)
    : plan_(plan),
      node_class_(node_class),
      inputs_(std::move(inputs)),
      counted_(std::move(counted)),
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

namespace {

bool is_sequence(nb::handle value) {
  return value.is_valid() && (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()));
}

// Calls a function for a tensor, or each one in a list.
template <class F>
void each_tensor(nb::handle value, F&& call) {
  if (is_a_tensor(value)) {
    call(value);
  } else if (is_sequence(value)) {
    for (nb::handle item : nb::borrow<nb::sequence>(value)) {
      if (is_a_tensor(item)) call(item);
    }
  }
}

}  // namespace

std::optional<bool> RecordedCall::is_wanted() const {
  if (!tape) return std::nullopt;
  const Tape& t = *tape;
  bool is_usual = true, wanted = false;
  for (size_t k = 0; k < count_; ++k) {
    each_tensor(arguments_[k], [&](nb::handle tensor) {
      nb::object state = state_of(tensor);
      if (!state.is_valid()) return;
      if (is_true(t.s_is_inference, state)) is_usual = false;
      if (recipe_.view_ >= 0 && !t.s_replay.is(state, Py_None)) is_usual = false;
      // A view whose base requires a gradient gets its history when it is asked for.
      if (!known().m_grad.is(tensor, Py_True) && requires_gradient(tensor)) is_usual = false;
    });
  }
  if (!is_usual) return std::nullopt;
  if (recipe_.is_none_ || !grad_enabled) return false;
  for (int k : recipe_.counted_) {
    each_tensor(argument(k),
                [&](nb::handle tensor) { wanted |= known().m_grad.is(tensor, Py_True); });
  }
  return wanted;
}

void RecordedCall::keep(const Value* values) {
  kept_.resize(count_);
  for (const Recipe::Reading& reading : recipe_.readings_) {
    for (const Recipe::Name& name : reading.names) {
      const size_t k = size_t(name.number);
      if (name.kind != 'a' || values[k].tag() == Tag::Tensor || kept_[k].is_valid()) continue;
      bool holds_tensors = false;  // which keep their history
      each_tensor(arguments_[k], [&](nb::handle) { holds_tensors = true; });
      if (holds_tensors) continue;
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

void RecordedCall::save(const Recipe::Name& name, const nb::object& result,
                        const std::vector<nb::object>& edges, const nb::dict& saved) const {
  const size_t k = size_t(name.number);
  const bool is_of_result = name.kind == 'r' || name.kind == 'h' || name.kind == 'y';
  const nb::object value = is_of_result ? result_at(result, name.number) : held_argument(k);
  const bool is_tensor = is_a_tensor(value);
  if (is_sequence(value) && !(name.kind == 'a' && kept_[k].is_valid())) {
    const Tape& t = *tape;
    const bool is_size = name.kind == 'z' || name.kind == 'y';
    put(saved, name.key, is_size ? t.size_of(value) : t.keep(value, name.kind == 's'));
    return;
  }
  switch (name.kind) {
    case 'z':
    case 'y': put(saved, name.key, size_of(value)); break;
    case 's':
      if (find(saved, name.other).is_valid()) break;
      [[fallthrough]];
    case 'h': put(saved, name.key, is_tensor ? shape_of(value) : value); break;
    case 'r':
      put(saved, name.key, is_tensor ? saved_of(value, nb::none(), name.number) : value);
      break;
    case 'a':
      if (is_tensor) {
        put(saved, name.key, saved_of(value, edges[k].is_valid() ? edges[k] : edge_of(value), -1));
      } else {
        put(saved, name.key, kept_[k].is_valid() ? kept_[k] : nb::none());
      }
      break;
    default: break;
  }
}

int RecordedCall::count_of(const nb::object& result) const {
  return recipe_.results_ == 0 ? int(nb::len(result)) : recipe_.results_;
}

nb::object RecordedCall::result_at(const nb::object& result, int k) const {
  return recipe_.results_ == 1 ? result : nb::object(result[k]);
}

nb::object RecordedCall::node(const nb::object& result) const {
  const Tape& t = *tape;
  const Names& n = known();
  nb::list edges, fits;
  nb::dict places;
  std::vector<nb::object> edge_at(count_);  // of an argument, or of one tensor in it
  auto add = [&](int i, nb::handle tensor) {
    nb::object found = is_a_tensor(tensor) ? edge_of(tensor) : nb::none();
    edges.append(found);
    if (found.is_none()) {
      fits.append(nb::none());
      return;
    }
    edge_at[size_t(i)] = found;
    fits.append(nb::make_tuple(held(n.m_size.get(tensor)), held(n.m_dtype.get(tensor))));
  };
  for (int i : recipe_.inputs_) {
    nb::handle value = argument(i);
    const size_t at = edges.size();
    if (!is_sequence(value)) {
      places[nb::int_(i)] = at;
      add(i, value);
      continue;
    }
    for (nb::handle item : nb::borrow<nb::sequence>(value)) add(i, item);
    places[nb::int_(i)] = t.lists(at, edges.size() - at);
  }
  nb::object made = bare_node(recipe_.node_class_);
  PyObject* p = made.ptr();
  nb::object number = nb::steal(PyIter_Next(t.numbers.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  nb::dict saved;
  t.n_edges.set(p, edges);
  t.n_number.set(p, number);
  t.n_results.set(p, nb::steal(PyLong_FromLong(count_of(result))));
  for (const Member* empty :
       {&t.n_tensor_hooks, &t.n_kept, &t.n_before, &t.n_after, &t.n_metadata, &t.n_where}) {
    empty->set(p, nb::none());
  }
  t.n_fits.set(p, fits);
  t.n_listed.set(p, nb::bool_(recipe_.results_ == 0));
  t.n_places.set(p, places);
  t.n_plan.set(p, recipe_.plan_);
  t.n_saved.set(p, saved);
  for (const Recipe::Reading& reading : recipe_.readings_) {
    bool has_edge = false;
    for (int i : reading.inputs) has_edge |= edge_at[size_t(i)].is_valid();
    if (!has_edge) continue;
    for (const Recipe::Name& name : reading.names) save(name, result, edge_at, saved);
  }
  return made;
}

void RecordedCall::note_view(nb::handle view, nb::handle source) const {
  const Tape& t = *tape;
  // Python makes the call again: it notes how the view is made of its base.
  if (!known().m_dtype.is(view, held(known().m_dtype.get(source)))) {
    throw nb::type_error("a view of another type than its base");
  }
  nb::object of_source = state_of(source);
  nb::object state = state_made_of(view);
  PyObject* p = state.ptr();
  nb::object base = held(source), followed = held(source);
  if (recipe_.results_ == 0) t.s_made.set(p, t.several);
  if (!grad_enabled) t.s_made.set(p, t.no_grad);
  if (of_source.is_valid()) {
    if (!t.s_base.is(of_source, Py_None)) {
      base = held(t.s_base.get(of_source));
      const bool is_told = !grad_enabled || recipe_.results_ == 0;
      if (!is_told) t.s_made.set(p, held(t.s_made.get(of_source)));
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
  const int count = count_of(result);
  if (recipe_.view_ >= 0) {
    nb::handle source = argument(recipe_.view_);
    const nb::object storage = held(n.m_storage.get(source));
    for (int k = 0; k < count; ++k) {
      nb::object r = result_at(result, k);
      if (!r.is(source) && n.m_storage.is(r, storage)) note_view(r, source);
    }
  }
  if (!is_wanted || (recipe_.results_ == 1 && is_argument(result))) return;
  nb::object made = node(result);
  for (int k = 0; k < count; ++k) {
    nb::object r = result_at(result, k);
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
  if (name.kind == 'g') return is_true(t.n_listed, node) ? grads : nb::object(grads[name.number]);
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

namespace {

// The edges of one input of a node.
struct Edges {
  size_t at, count;
  bool is_list;
};

Edges edges_at(nb::handle places, int input) {
  nb::object place(places[nb::int_(input)]);
  if (PyLong_Check(place.ptr())) return {size_t(int_of(place)), 1, false};
  return {nb::cast<size_t>(place.attr("at")), nb::cast<size_t>(place.attr("count")), true};
}

// A gradient of the size and type of its input; None if that wants none.
nb::object fitted(const nb::object& grad, const nb::object& fit) {
  if (grad.is_none() || fit.is_none()) return nb::none();
  const nb::object size = fit[0], dtype = fit[1];
  const Names& n = known();
  const bool fits = n.m_dtype.is(grad, dtype) && held(n.m_size.get(grad)).equal(size);
  return fits ? grad : tape->fitted(grad, size, dtype);
}

}  // namespace

nb::list Recipe::apply(nb::handle node, nb::list grads, nb::list wanted) {
  const Tape& t = *tape;
  nb::object saved = held(t.n_saved.get(node));
  const nb::object input_places = held(t.n_places.get(node));
  nb::list fits = nb::borrow<nb::list>(held(t.n_fits.get(node)));
  nb::list made;
  for (size_t k = 0; k < fits.size(); ++k) made.append(nb::none());
  for (Reading& reading : readings_) {
    nb::list needs;
    std::vector<Edges> places;
    bool any = false;
    for (int i : reading.inputs) {
      const Edges edges = edges_at(input_places, i);
      bool need = false;
      for (size_t k = 0; k < edges.count; ++k) {
        need |= nb::object(wanted[edges.at + k]).is(nb::bool_(true));
      }
      places.push_back(edges);
      needs.append(nb::bool_(need));
      any |= need;
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
      const Edges& edges = places[k];
      for (size_t j = 0; j < edges.count; ++j) {
        const nb::object grad = edges.is_list ? nb::object(part[j]) : part;
        made[edges.at + j] = fitted(grad, nb::object(fits[edges.at + j]));
      }
    }
  }
  return made;
}

}  // namespace scriptlang::python
