// Registers that are never live at the same time become one: frames stay small, although each body
// that was put in brought registers of its own.
//
// A register's interval goes from the first place where it is touched or live to the last. Those of
// numbers share with their like only, since their types are looked at.
#include <algorithm>

#include "lower/flow.h"
#include "optimize.h"

namespace scriptlang::optimize {

namespace {

// So many have places of their own: values pass without moves from one to another there.
constexpr size_t kFew = 64;
constexpr int kMost = 10000;  // of more it would take too long

struct Interval {
  int64_t begin = INT64_MAX, end = -1;
  int leader = 0;  // the first of those that one instruction stores side by side
  int count = 1;   // of a leader: how many
  void touch(int64_t pc) {
    begin = std::min(begin, pc);
    end = std::max(end, pc);
  }
};

class Sharing {
 public:
  explicit Sharing(Function* f) : f_(*f), intervals_(size_t(f->registers) + 1) {}

  void run() {
    const lower::Flow flow = lower::flow_of(f_);
    const lower::Liveness liveness(f_, flow);
    if (!liveness.known()) return;
    for (size_t r = 0; r < intervals_.size(); ++r) intervals_[r].leader = int(r);
    for (size_t pc = 0; pc < f_.code.size(); ++pc) {
      const Instruction& i = f_.code[pc];
      const int count = names(i);
      for (int k = 0; k < count; ++k) intervals_[size_t(i.x + k)].touch(int64_t(pc));
      if (count > 1 && !join(i.x, count)) return;
    }
    for (size_t b = 0; b < flow.starts.size(); ++b) {
      const size_t begin = size_t(flow.starts[b]);
      liveness.for_live(b, [&](int slot) { intervals_[size_t(slot) + 1].touch(int64_t(begin)); });
      const size_t last = lower::last_of(flow, begin);
      lower::for_successors(f_, flow, last, [&](int32_t next) {
        liveness.for_live(size_t(next),
                          [&](int slot) { intervals_[size_t(slot) + 1].touch(int64_t(last)); });
      });
    }
    allocate();
    for (Instruction& i : f_.code) {
      if (names(i)) i.x = places_[size_t(i.x)];
    }
    f_.registers = int(ends_.size());
    if (!f_.register_types.empty()) f_.register_types = std::move(types_);
  }

 private:
  // How many registers an instruction names, from x on.
  static int names(const Instruction& i) {
    const bytecode::Operand x = bytecode::info_of(i.op).x;
    if (x == bytecode::Operand::Register) return 1;
    return x == bytecode::Operand::Registers ? i.n : 0;
  }

  // False where rows overlap: then all stays as it is.
  bool join(int first, int count) {
    Interval& leader = intervals_[size_t(first)];
    const bool known = leader.count == count;
    for (int k = 0; k < count; ++k) {
      Interval& member = intervals_[size_t(first + k)];
      const bool free = member.leader == first + k && member.count == 1;
      if (!(known && member.leader == first) && !free) return false;
    }
    for (int k = 0; k < count; ++k) intervals_[size_t(first + k)].leader = first;
    leader.count = count;
    return true;
  }

  TypeRef type_of(int reg) const {
    const size_t k = size_t(reg) - 1;
    return k < f_.register_types.size() ? f_.register_types[k] : TypeRef();
  }

  void allocate() {
    std::vector<int> order;
    for (size_t r = 1; r < intervals_.size(); ++r) {
      if (intervals_[r].leader == int(r) && intervals_[r].end >= 0) order.push_back(int(r));
      if (intervals_[r].leader != int(r)) {
        intervals_[size_t(intervals_[r].leader)].touch(intervals_[r].begin);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return intervals_[size_t(a)].begin < intervals_[size_t(b)].begin;
    });
    places_.assign(intervals_.size(), 1);
    for (int r : order) {
      const Interval& interval = intervals_[size_t(r)];
      const int first = find_free(r, interval.count, interval.begin);
      for (int k = 0; k < interval.count; ++k) {
        places_[size_t(r + k)] = first + k + 1;
        ends_[size_t(first + k)] = intervals_[size_t(r + k)].end;
      }
    }
  }

  int find_free(int reg, int count, int64_t begin) {
    size_t run = 0;
    for (size_t p = 0; p < ends_.size() && ends_.size() >= kFew; ++p) {
      const bool fits = ends_[p] < begin && types_[p].get() == type_of(reg + int(run)).get();
      run = fits ? run + 1 : 0;
      if (run == size_t(count)) return int(p) + 1 - count;
    }
    for (int k = 0; k < count; ++k) {
      ends_.push_back(-1);
      types_.push_back(type_of(reg + k));
    }
    return int(ends_.size()) - count;
  }

  Function& f_;
  std::vector<Interval> intervals_;
  std::vector<int> places_;     // of a register
  std::vector<int64_t> ends_;   // of a place: where what lies there ends
  std::vector<TypeRef> types_;  // of a place
};

}  // namespace

void share_registers(Function* function) {
  if (function->registers > 1 && function->registers <= kMost) Sharing(function).run();
}

}  // namespace scriptlang::optimize
