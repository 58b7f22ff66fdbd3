// The assembler of the source compiler: builds the instructions and tables of one function. It also
// notes the place in the source that each instruction came from.
#pragma once

#include <unordered_map>
#include <vector>

#include "overloads.h"
#include "program/program.h"

namespace scriptlang::source {

class Assembler {
 public:
  Assembler(Function* function, Budget* budget) : f_(*function), budget_(*budget) {}

  size_t size() const { return f_.code.size(); }
  Instruction& at(size_t pc) { return f_.code[pc]; }
  size_t emit(Opcode op, int64_t x = 0, int64_t n = 0) {
    insert(size(), op, x, n);
    return size() - 1;
  }
  // Inserts before the instruction at `pc`. No jump may lead across that place, because distances
  // of jumps are not corrected.
  void insert(size_t pc, Opcode op, int64_t x = 0, int64_t n = 0);
  void erase(size_t begin, size_t end);
  // Makes the jump at `pc` go to the instruction that is emitted next.
  void land(size_t pc) { at(pc).x = int32_t(size() - pc); }
  void jump_to(size_t pc) { emit(Opcode::JMP, int64_t(pc) - int64_t(size())); }

  // Each of these returns an index in a table of the function, and adds what is not there yet.
  int constant(const Value& value);
  int type(T type);
  int types(const std::vector<T>& row);  // side by side; returns the index of the first
  int callee(const Function* function);
  int operation(const Signature& signature, int given);
  int variadic_operation(const Signature& signature);
  int unknown_operation(const std::string& name);
  // Adds registers. Returns the first of them.
  int fresh(int count = 1) {
    int first = f_.registers + 1;
    f_.registers += count;
    return first;
  }

  // Code behind a raise or return never runs. It is called dead, and end_block() removes what was
  // emitted since die().
  static constexpr size_t kAlive = SIZE_MAX;
  void die() {
    if (dead_ == kAlive) dead_ = size();
  }
  size_t death() const { return dead_; }  // where the dead code begins, or kAlive
  // Goes back to an earlier state, with so many instructions and that death().
  void revert(size_t size, size_t death) {
    erase(size, f_.code.size());
    dead_ = death;
  }
  bool dead() const { return dead_ != kAlive; }
  size_t begin_block() { return std::exchange(dead_, kAlive); }  // returns the outer death()
  // Removes dead code. Returns whether control reaches the end of the block.
  bool end_block(size_t outer);

  uint32_t line = 0;  // the offset in the source of what is being compiled; for Function::lines

 private:
  int add_operation(OperatorUse use);
  Function& f_;
  Budget& budget_;
  size_t dead_ = kAlive;
  std::unordered_map<std::string, int> constants_, operations_;
  std::unordered_map<T, int> types_;
  std::unordered_map<const Function*, int> callees_;
};

}  // namespace scriptlang::source
