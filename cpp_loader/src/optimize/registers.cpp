// Register allocation by linear scan: registers that are never live at the same time become one.
// Frames stay small that way, although each inlined body brought its own registers.
//
// The interval of a register goes from the first instruction where it is named or live to the last.
// A register with a declared type shares only with registers of the same type, because the lowering
// uses these types.
#include <algorithm>

#include "lower/flow.h"
#include "optimize.h"

namespace scriptlang::optimize {

namespace {

// So many registers are not shared. The lowering can then pass values between them without moves.
constexpr size_t kFew = 64;
constexpr int kMost = 10000;  // a function with more registers stays as it is

// The interval of a register. Registers that one STOREN writes must stay side by side: they are a
// row, whose first register is the leader.
struct Interval {
  int64_t begin = INT64_MAX, end = -1;
  int leader = 0;
  int count = 1;  // of a leader: how many registers the row has
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

  // Makes registers first, ..., first + count - 1 a row. False if rows overlap: then nothing is
  // changed.
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

  // The first of `count` places side by side that are free from `begin` on, new ones if need be.
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
  std::vector<int> places_;     // by register: its new number
  std::vector<int64_t> ends_;   // by place: where the interval of its last register ends
  std::vector<TypeRef> types_;  // by place: the declared type of its registers, or null
};

}  // namespace

void share_registers(Function* function) {
  if (function->registers > 1 && function->registers <= kMost) Sharing(function).run();
}

}  // namespace scriptlang::optimize
