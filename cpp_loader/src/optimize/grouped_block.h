// A basic block whose pointwise operators become groups: which may be one, and the code then.
#pragma once

#include <vector>

#include "block.h"

namespace scriptlang::optimize {

using Set = std::vector<uint64_t>;  // of groups

class GroupedBlock {
 public:
  GroupedBlock(Function* f, size_t begin, size_t end) : f_(*f), begin_(begin), end_(end) {}

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
    return any;
  }

  // The block's code as it is now, and where each instruction came from.
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

  bool may_move(size_t k);
  bool is_fusible_node(size_t k);

  // ---- in-place operators on tensors of their own

  bool is_fresh(int v, size_t before);
  void make_new(size_t k);

  // ---- grouping, of the instructions from..to

  size_t find(size_t g) const;
  template <class F>
  void for_producers(size_t k, size_t from, F f) {
    for (int v : node(k).inputs) {
      if (value(v).kind == BlockValue::Result && size_t(value(v).node) >= from) {
        f(size_t(value(v).node));
      }
    }
  }
  // The groups that must run before any instruction behind k.
  void add_reached(Set* to, size_t k) const;
  Set closure(const Set& set) const;

  // Whether groups and instruction k may become one, which then does not depend on itself.
  bool may_be_one(const std::vector<size_t>& groups, size_t k, size_t from);
  void place(size_t k, size_t from);
  bool group(size_t from, size_t to);

  // Groups and single instructions, in an order that keeps every dependence.
  void order(size_t from, size_t to);

  // What instructions use of others, but for the constants that a group holds itself.
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
  BlockValues read_;
  std::vector<char> fusible_;
  std::vector<int> group_;    // of an instruction; -1: none
  std::vector<Set> depends_;  // the groups that must run before an instruction
  std::vector<size_t> root_;  // of a group that was merged into others
  std::vector<std::vector<size_t>> members_;
  std::vector<Set> outside_;  // the groups that must run before a group
  std::vector<std::vector<size_t>> units_;
  std::vector<int> place_;           // of a value: its register
  std::vector<char> settled_;        // of a binding: its value lies there already
  std::vector<char> read_at_start_;  // of a register: what it had before the block is used
  std::vector<int> part_places_;     // of a value in the group that is being written: its register
  std::vector<int> part_uses_;       // and how often its members use it
  int pending_ = -1;                 // a value on the stack
  size_t pending_pc_ = 0;
};

}  // namespace scriptlang::optimize
