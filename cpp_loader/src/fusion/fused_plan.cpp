// Partitions the recorded steps of a fused group into tile and row programs.
#include "fused_plan.h"

#include <algorithm>

#include "row_program.h"
#include "tile_program.h"

namespace scriptlang {

namespace {

using Indices = std::vector<int>;

bool contains(const Indices& all, int v) {
  return std::find(all.begin(), all.end(), v) != all.end();
}
void add_once(Indices* to, int v) {
  if (!contains(*to, v)) to->push_back(v);
}

// Steps that will become one part.
struct Draft {
  Indices steps;
  std::vector<int64_t> sizes;  // the shape that its loops run over
  int row_dims = 0;            // number of last dimensions that form a row; 0: no rows
  bool is_whole = false;       // a single operator, run as a whole
  Indices after;               // drafts that must run before it

  RowShape shape() const { return {sizes, row_dims}; }
};

// Puts each step into a draft whose loops run over the same elements, then compiles drafts to
// parts.
class Planner {
 public:
  Planner(const Recording& recording, FusedPlan* plan, bool rows)
      : r_(recording), plan_(*plan), rows_(rows) {
    step_of_.assign(r_.values().size(), -1);
    for (size_t s = 0; s < steps().size(); ++s) step_of_[size_t(step(int(s)).result)] = int(s);
  }

  bool make() {
    mark_needed();
    draft_of_.assign(steps().size(), -1);
    for (size_t s = 0; s < steps().size(); ++s) {
      if (needed_[s]) place(int(s));
    }
    Indices order;
    std::vector<bool> done(drafts_.size());
    for (size_t d = 0; d < drafts_.size(); ++d) put_in_order(int(d), &done, &order);
    for (int d : order) {
      if (!add_part(drafts_[size_t(d)], d)) return false;
    }
    for (size_t k = 0; k < plan_.parts.size(); ++k) find_reusable(k);
    return true;
  }

 private:
  const std::vector<RecordedStep>& steps() const { return r_.steps(); }
  const RecordedStep& step(int s) const { return steps()[size_t(s)]; }
  const Tensor& value(int v) const { return r_.values()[size_t(v)]; }
  IntSpan result_sizes(int s) const { return value(step(s).result).sizes(); }

  void mark_needed() {
    needed_.assign(steps().size(), false);
    for (int v : plan_.results) need(v);
    for (size_t s = steps().size(); s-- > 0;) {
      if (!needed_[s]) continue;
      for (int v : inputs_of(int(s))) need(v);
      const RecordedStep& one = step(int(s));  // integer division by zero raises
      may_raise_ = may_raise_ || (one.count == 2 && is_integral(one.produced, false));
    }
  }
  void need(int value) {
    if (step_of_[size_t(value)] >= 0) needed_[size_t(step_of_[size_t(value)])] = true;
  }
  Indices inputs_of(int s) const {
    Indices found;
    for (int k = 0; k < step(s).count; ++k) {
      if (step(s).in[k].value >= 0) found.push_back(step(s).in[k].value);
    }
    return found;
  }
  // The draft that computes a value; -1 if it is an argument.
  int draft_of(int v) const {
    int s = step_of_[size_t(v)];
    return s < 0 ? -1 : draft_of_[size_t(s)];
  }

  // ---- drafts

  void place(int s) {
    Indices from;
    for (int v : inputs_of(s)) {
      if (draft_of(v) >= 0) add_once(&from, draft_of(v));
    }
    int d = int(drafts_.size()) - 1;
    while (d >= 0 && !(may_join(s, d) && !needs(from, d))) --d;
    if (d < 0) d = open(s);
    Draft& draft = drafts_[size_t(d)];
    if (is_rows(s) && !draft.is_whole) draft.row_dims = step(s).row_dims;
    draft.steps.push_back(s);
    draft_of_[size_t(s)] = d;
    for (int f : from) {
      if (f != d) add_once(&draft.after, f);
    }
  }

  // Whether one of the drafts `from`, other than d itself, depends on draft d.
  bool needs(const Indices& from, int d) const {
    for (int f : from) {
      if (f != d && (contains(drafts_[size_t(f)].after, d) || needs(drafts_[size_t(f)].after, d))) {
        return true;
      }
    }
    return false;
  }

  bool is_rows(int s) const { return bool(step(s).whole); }

  // Opens a new draft for a step.
  int open(int s) {
    Draft draft;
    IntSpan sizes = is_rows(s) ? value(step(s).in[0].value).sizes() : result_sizes(s);
    draft.sizes.assign(sizes.begin(), sizes.end());
    draft.is_whole = is_rows(s) && !may_share_rows(s);
    drafts_.push_back(std::move(draft));
    return int(drafts_.size()) - 1;
  }

  bool may_share_rows(int s) const {
    if (!rows_ || step(s).row == nullptr) return false;
    RowShape shape{value(step(s).in[0].value).sizes(), step(s).row_dims};
    return shape.row_length() >= 2 && (!shape.is_long() || step(s).row->piece != nullptr);
  }

  bool may_join(int s, int d) const {
    const Draft& draft = drafts_[size_t(d)];
    if (draft.is_whole) return false;
    if (is_rows(s)) return may_join_rows(s, d);
    IntSpan sizes = result_sizes(s);
    bool full = sizes == IntSpan(draft.sizes);
    if (draft.row_dims == 0) return full;
    RowShape shape = draft.shape();
    if (!full && !shape.is_kept(sizes) && !shape.is_dropped(sizes)) return false;
    for (int v : inputs_of(s)) {
      if (draft_of(v) != d) continue;
      IntSpan own = value(v).sizes();
      bool same = own == sizes, one_a_row = full && shape.is_kept(own) && !shape.is_long();
      if (!same && !one_a_row) return false;
    }
    return true;
  }

  // A row function may join loops over the same elements if their rows are the same.
  bool may_join_rows(int s, int d) const {
    const Draft& draft = drafts_[size_t(d)];
    const RecordedStep& one = step(s);
    if (!may_share_rows(s)) return false;
    if (value(one.in[0].value).sizes() != IntSpan(draft.sizes)) return false;
    if (draft.row_dims != 0 && draft.row_dims != one.row_dims) return false;
    RowShape shape{draft.sizes, one.row_dims};
    for (int k = 0; k < one.count; ++k) {
      int v = one.in[k].value;
      if (v < 0 || draft_of(v) != d) continue;
      if (value(v).sizes() != shape.sizes) return false;
    }
    return true;
  }

  void put_in_order(int d, std::vector<bool>* done, Indices* order) const {
    if ((*done)[size_t(d)]) return;
    (*done)[size_t(d)] = true;
    for (int before : drafts_[size_t(d)].after) put_in_order(before, done, order);
    order->push_back(d);
  }

  // ---- parts

  bool add_part(const Draft& draft, int d) {
    FusedPlan::Part part;
    const RecordedStep& first = step(draft.steps[0]);
    if (draft.steps.size() == 1 && first.whole) {
      part.whole = first.whole;
      for (int k = 0; k < first.count; ++k) part.inputs.push_back(first.in[k].value);
      part.outputs.push_back(first.result);
      add_made(first.result);
      plan_.parts.push_back(std::move(part));
      return true;
    }
    for (int s : draft.steps) {
      for (int v : inputs_of(s)) {
        if (draft_of(v) != d) add_once(&part.inputs, v);
      }
      int v = step(s).result;
      if (!is_read_outside(v, d)) continue;
      part.outputs.push_back(v);
      add_made(v);
    }
    if (draft.row_dims > 0) {
      part.program = RowProgram::make(r_, draft.steps, part.inputs, part.outputs, draft.shape());
    } else {
      part.program = TileProgram::make(r_, draft.steps, part.inputs, part.outputs);
    }
    if (!part.program) return false;
    plan_.parts.push_back(std::move(part));
    return true;
  }

  bool is_read_outside(int v, int d) const {
    if (contains(plan_.results, v)) return true;
    for (size_t s = 0; s < steps().size(); ++s) {
      if (needed_[s] && draft_of_[s] != d && contains(inputs_of(int(s)), v)) return true;
    }
    return false;
  }

  void add_made(int v) {
    const Tensor& t = value(v);
    IntSpan sizes = t.sizes(), strides = t.strides();
    plan_.made.push_back({v,
                          {t.dtype(),
                           {sizes.begin(), sizes.end()},
                           {strides.begin(), strides.end()},
                           t.is_contiguous(),
                           t.numel()}});
  }

  // Finds the arguments whose memory an output of this part may reuse: they have the output's
  // geometry, and nothing reads them after the output is written.
  void find_reusable(size_t index) {
    FusedPlan::Part& part = plan_.parts[index];
    part.reusable.resize(part.outputs.size());
    if (!part.program || may_raise_) return;
    for (size_t k = 0; k < part.outputs.size(); ++k) {
      const Tensor& out = value(part.outputs[k]);
      for (size_t i = 0; i < part.inputs.size(); ++i) {
        int v = part.inputs[i];
        const Tensor& in = value(v);
        bool same = v < int(plan_.tensors.size()) && in.dtype() == out.dtype() &&
                    in.sizes() == out.sizes() && in.strides() == out.strides();
        if (same && !is_read_after(index, v) && part.program->may_overwrite(int(i), int(k))) {
          part.reusable[k].push_back(v);
        }
      }
    }
  }
  bool is_read_after(size_t index, int v) const {
    for (size_t k = index + 1; k < plan_.parts.size(); ++k) {
      if (contains(plan_.parts[k].inputs, v)) return true;
    }
    return false;
  }

  const Recording& r_;
  FusedPlan& plan_;
  bool rows_;  // whether row functions may be part of programs
  Indices step_of_, draft_of_;
  std::vector<bool> needed_;
  bool may_raise_ = false;  // if an error is possible, the arguments must stay unchanged
  std::vector<Draft> drafts_;
};

}  // namespace

bool make_parts(const Recording& recording, FusedPlan* plan) {
  for (bool rows : {true, false}) {
    if (Planner(recording, plan, rows).make()) break;
    plan->parts.clear();
    plan->made.clear();
    if (!rows) return false;
  }
  // Results become indices into `made`.
  for (int& value : plan->results) {
    size_t k = 0;
    while (k < plan->made.size() && plan->made[k].first != value) ++k;
    value = int(k);
  }
  return true;
}

}  // namespace scriptlang
