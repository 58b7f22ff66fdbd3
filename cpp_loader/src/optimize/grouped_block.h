// A basic block whose pointwise operators become fused groups: chooses the groups, and writes the
// new code. grouping.cpp and group_writing.cpp implement it.
#pragma once

#include <vector>

#include "block.h"
#include "misses.h"

namespace scriptlang::optimize {

using Set = std::vector<uint64_t>;  // a set of groups, as bits

class GroupedBlock {
 public:
  // misses: what tells why operators are in no group; may be null.
  GroupedBlock(Function* f, size_t begin, size_t end, Misses* misses)
      : f_(*f), begin_(begin), end_(end), misses_(misses) {}

  // Chooses the groups. False if there are none. `live` as in BlockValues::read.
  template <class Live>
  bool run(const Live& live) {
    read_.read(f_, begin_, end_, live);
    const size_t count = read_.nodes.size();
    fusible_.resize(count);
    group_.assign(count, -1);
    depends_.resize(count);
    for (size_t k = 0; k < count; ++k) make_new(k);
    for (size_t k = 0; k < count; ++k) fusible_[k] = is_fusible_node(k);
    bool any = false;
    for (size_t from = 0; from < count;) {
      size_t to = from;
      while (to < count && may_move(to)) ++to;
      if (to > from) any = group(from, to) || any;
      from = std::max(to, from + 1);
    }
    if (misses_) tell_alone();
    return any;
  }

  // The new code, and the instruction that each of its instructions came from. write() fills them
  // in.
  std::vector<Instruction> code;
  std::vector<size_t> origin;
  void write();

 private:
  BlockNode& node(size_t k) { return read_.nodes[k]; }
  const BlockValue& value(int v) const { return read_.values[size_t(v)]; }
  const OperatorUse& use_of(const BlockNode& n) const {
    return f_.operators[size_t(n.instruction.x)];
  }
  static bool calls_operator(const BlockNode& n) {
    return n.instruction.op == Opcode::OP_ONE || n.instruction.op == Opcode::OP_ANY;
  }
  const Value* constant(int v) const {
    return value(v).kind == BlockValue::Constant ? &f_.constants[size_t(value(v).index)] : nullptr;
  }

  // Whether node k has no side effects, so that it may run before or after others of this kind.
  // Nothing is moved over the other nodes.
  bool may_move(size_t k);
  // Whether node k may be a member of a group; why not, where `why` is not null.
  bool is_fusible_node(size_t k, std::string* why = nullptr);
  // Tells of the operators that might be in a group, and are in none.
  void tell_alone();

  // ---- in-place operators that become out-of-place ones

  // Whether nothing but node `before` uses the memory of tensor v from there on: it was newly made
  // in this block, and only read since. Why not, where `why` is not null.
  bool is_fresh(int v, size_t before, const char** why = nullptr);
  // If node k is an in-place operator on such a tensor, makes it one that gives a new tensor.
  void make_new(size_t k);

  // ---- grouping of the nodes from, ..., to - 1, all of which may move

  size_t find(size_t g) const;
  template <class F>
  void for_producers(size_t k, size_t from, F f) {
    for (int v : node(k).inputs) {
      if (value(v).kind == BlockValue::Result && size_t(value(v).node) >= from) {
        f(size_t(value(v).node));
      }
    }
  }
  // Adds the groups that must run before a user of node k: its own, and those it depends on.
  void add_reached(Set* to, size_t k) const;
  // The groups of the set, and all that must run before them.
  Set closure(const Set& set) const;

  // Whether these groups and node k may become one group: it may not depend on itself, nor be too
  // large. Why not, where `why` is not null.
  bool may_be_one(const std::vector<size_t>& groups, size_t k, size_t from, std::string* why);
  // Puts node k into the groups of its producers, as far as they may be one, or into a new group.
  void place(size_t k, size_t from);
  // Groups the nodes and appends them to `units_`. False if no group has two members.
  bool group(size_t from, size_t to);

  // Appends the groups and single nodes to `units_`, each after those that it depends on.
  void order(size_t from, size_t to);

  // The values that these nodes take from outside, besides constants that a group holds itself.
  std::vector<int> inputs_of(const std::vector<size_t>& members);

  // ---- writing

  void emit(Opcode op, int64_t x, int64_t n, size_t pc);
  int fresh(int count);
  void push(int v, size_t pc);
  void store(int first, int count, size_t pc);
  void write_single(size_t k);
  void write_group(const std::vector<size_t>& unit);
  void keep(const std::vector<int>& made, size_t pc);
  int home_of(int v);
  void flush();

  Function& f_;
  const size_t begin_, end_;
  Misses* misses_;
  BlockValues read_;
  std::vector<char> fusible_;
  std::vector<int> group_;    // by node: its group, which may have been merged; -1: none
  std::vector<Set> depends_;  // by node: the groups that must run before it
  std::vector<size_t> root_;  // by group: the one that it was merged into, or itself; see find()
  std::vector<std::vector<size_t>> members_;  // by group: its nodes
  std::vector<Set> outside_;                  // by group: the groups that must run before it
  std::vector<std::vector<size_t>> units_;    // groups and single nodes, in the order of the code
  std::vector<int> place_;                    // by value: its register
  std::vector<char> settled_;        // by binding: whether the register has its value already
  std::vector<char> read_at_start_;  // by register: whether the block reads its old value
  std::vector<int> part_places_;     // by value: its register in the group that is being written
  std::vector<int> part_uses_;       // by value: how often the members of that group use it
  int pending_ = -1;                 // a result that was left on the stack, or -1
  size_t pending_pc_ = 0;            // where it came from
};

}  // namespace scriptlang::optimize
