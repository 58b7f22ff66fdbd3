// Makes backward passes over the nodes of Python's tape.
#include <algorithm>
#include <queue>
#include <unordered_map>
#include <vector>

#include "eager.h"
#include "grad_mode.h"
#include "stable.h"
#include "tape.h"
#include "tape_parts.h"

namespace scriptlang::python {

namespace {

nb::object call_method(nb::handle object, const nb::object& name, nb::handle a, nb::handle b) {
  nb::object made =
      nb::steal(PyObject_CallMethodObjArgs(object.ptr(), name.ptr(), a.ptr(), b.ptr(), nullptr));
  if (!made.is_valid()) throw nb::python_error();
  return made;
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
  // Reads what the pass shall be of the attributes of its Walk.
  Pass(nb::object walk, nb::object inputs)
      : walk_(walk),
        inputs_(inputs),
        keeps_(nb::cast<bool>(walk.attr("keeps"))),
        records_(nb::cast<bool>(walk.attr("records"))),
        accumulates_(nb::cast<bool>(walk.attr("accumulates"))) {}

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
        Entry& found = entry_of(target);
        ++found.waiting;
        if (!inputs_.is_none()) found.sources.push_back(source);
      }
    }
    if (!inputs_.is_none()) find_useful();
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
    bool is_input = false, is_useful = false;  // only with inputs: on the way to one
    std::vector<nb::object> grads;
    std::vector<Entry*> sources;  // only with inputs: the nodes whose edges lead here
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

  bool is_wanted(const Entry& entry) const {
    return inputs_.is_none() || entry.is_useful || entry.is_input;
  }

  // The nodes from which an input is reached over at least one edge. Python is told, for nodes that
  // it runs.
  void find_useful() {
    std::vector<Entry*> pending;
    for (auto [node, numbers] : nb::borrow<nb::dict>(inputs_)) {
      auto found = entries_.find(node.ptr());
      if (found == entries_.end()) continue;
      found->second.is_input = true;
      pending.push_back(&found->second);
    }
    nb::set useful;
    while (!pending.empty()) {
      Entry* target = pending.back();
      pending.pop_back();
      for (Entry* source : target->sources) {
        if (source->is_useful) continue;
        source->is_useful = true;
        useful.add(source->node);
        pending.push_back(source);
      }
    }
    walk_.attr("useful") = useful;
  }

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
    bool runs = inputs_.is_none() || entry.is_useful;
    if (entry.is_input && accumulates_) {
      runs = true;
    } else if (entry.is_input && runs) {
      call_method(walk_, t.capture, node, grads);  // before hooks, as in PyTorch
    }
    if (is_leaf(node) && runs) {
      take(node, grads);
      return;
    }
    if (runs || entry.is_input) run_hooks(node, grads);
    nb::object made = nb::make_tuple();
    if (runs) {
      if (is_filled(t.n_before, node)) call_method(walk_, t.hook_before, node, grads);
      made = applied(node, grads, any);
    } else if (entry.is_input) {
      call_method(walk_, t.capture, node, grads);
      if (is_leaf(node)) return;
    }
    const nb::object edges = edges_of(node);
    const size_t count = nb::len(made);
    size_t k = 0;
    for (nb::handle edge : edges) {
      const size_t at = k++;
      if (edge.is_none()) continue;
      Entry& target = entry_of(edge[0]);
      if (at < count) {
        nb::object grad(made[at]);
        if (!grad.is_none() && is_wanted(target)) {
          receive(target, nb::cast<size_t>(edge[1]), std::move(grad));
        }
      }
      if (--target.waiting == 0) push(&target);
    }
  }

  // Calls the hooks of a node's output tensors.
  void run_hooks(nb::handle node, nb::list grads) {
    const Tape& t = *tape;
    if (is_leaf(node)) {
      nb::object state = state_of(held(t.l_variable.get(node)));
      if (state.is_valid() && is_filled(t.s_hooks, state)) {
        call_method(walk_, t.hook, node, grads);
      }
    } else if (is_filled(t.n_tensor_hooks, node) || is_filled(t.n_kept, node)) {
      call_method(walk_, t.hook, node, grads);
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
    for (nb::handle edge : edges_of(node)) {
      wanted.append(nb::bool_(!edge.is_none() && is_wanted(entry_of(edge[0]))));
    }
    nb::list made = nb::inst_ptr<Recipe>(recipe)->apply(node, grads, wanted);
    if (!keeps_) release(node);
    return made;
  }

  static bool holds_tensor(nb::handle saved) {
    if (!PyList_Check(saved.ptr())) return saved.type().is(tape->saved);
    for (nb::handle item : nb::borrow<nb::list>(saved)) {
      if (holds_tensor(item)) return true;
    }
    return false;
  }

  // Frees what a node has saved, if that is memory.
  static void release(nb::handle node) {
    const Tape& t = *tape;
    nb::object saved = held(t.n_saved.get(node));
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(saved.ptr(), &at, &key, &value);) {
      if (!holds_tensor(value)) continue;
      t.n_saved.set(node.ptr(), nb::none());
      return;
    }
  }

  // A leaf's gradient becomes its `grad`.
  void take(nb::handle node, nb::list grads) {
    const Tape& t = *tape;
    const Names& n = known();
    nb::object leaf = held(t.l_variable.get(node));
    run_hooks(node, grads);
    if (is_filled(t.n_before, node)) call_method(walk_, t.hook_before, node, grads);
    nb::object state = state_of(leaf);
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

  nb::object walk_, inputs_;
  bool keeps_, records_, accumulates_;
  std::unordered_map<PyObject*, Entry> entries_;
  std::priority_queue<Ready> heap_;
  int64_t pushed_ = 0;
};

}  // namespace

bool go_back(nb::object walk, nb::list roots, nb::list grads, nb::object inputs) {
  if (!tape) return false;
  Pass pass(walk, inputs);
  if (!pass.find(roots)) return false;
  pass.start(roots, grads);
  pass.run();
  return true;
}

}  // namespace scriptlang::python
