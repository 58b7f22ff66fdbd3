// The assembler: instructions of one function with its tables, and the line each came from.
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
  // Before the instruction at `pc`; jumps over that place must not lead across it.
  void insert(size_t pc, Opcode op, int64_t x = 0, int64_t n = 0);
  void erase(size_t begin, size_t end);
  // Lets the jump at `pc` go to what is emitted next.
  void land(size_t pc) { at(pc).x = int32_t(size() - pc); }
  void jump_to(size_t pc) { emit(Opcode::JMP, int64_t(pc) - int64_t(size())); }

  int constant(const Value& value);
  int type(T type);
  int types(const std::vector<T>& row);  // side by side: the first's index
  int callee(const Function* function);
  int operation(const Signature& signature, int given);
  int variadic_operation(const Signature& signature);
  int unknown_operation(const std::string& name);
  int fresh(int count = 1) {  // registers
    int first = f_.registers + 1;
    f_.registers += count;
    return first;
  }

  // Behind a raise or return nothing runs: what is emitted until the block's end is dropped.
  static constexpr size_t kAlive = SIZE_MAX;
  void die() {
    if (dead_ == kAlive) dead_ = size();
  }
  size_t death() const { return dead_; }
  // As it was when it had so many instructions.
  void revert(size_t size, size_t death) {
    erase(size, f_.code.size());
    dead_ = death;
  }
  bool dead() const { return dead_ != kAlive; }
  size_t begin_block() { return std::exchange(dead_, kAlive); }
  // Whether the block goes on at its end.
  bool end_block(size_t outer);

  uint32_t line = 0;  // as Function::lines has it

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
