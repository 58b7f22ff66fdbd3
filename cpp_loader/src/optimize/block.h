// A basic block as a data flow graph: nodes are instructions, edges are the values that they take
// and give. Loads and stores of registers and the stack are resolved.
#pragma once

#include <algorithm>
#include <vector>

#include "program/program.h"

namespace scriptlang::optimize {

struct BlockValue {
  // Constant `index` of the function; what register `index` held when the block began; the value
  // that lay on the stack when it began, `index` positions from the top; result `index` of `node`.
  enum Kind : uint8_t { Constant, Register, Below, Result } kind;
  int index;
  int node = -1;
  int uses = 0;  // by nodes, and by registers and stack positions behind the block
};

struct BlockNode {
  size_t pc;
  Instruction instruction;
  std::vector<int> inputs;
  int first = 0, count = 0;  // its results are the values first, ..., first + count - 1
};

// The instruction that leaves the block (a jump or RET) is not among the nodes.
struct BlockValues {
  std::vector<BlockValue> values;
  std::vector<BlockNode> nodes;
  // (register, value): what the registers hold at the end that the block wrote and that are live.
  std::vector<std::pair<int, int>> bindings;
  std::vector<int> left;  // values on the stack at the end, besides untouched ones below them
  int below = 0;          // how many values the block takes that lay on the stack before

  // Fills in the values of instructions begin, ..., end - 1. live(register) says whether a register
  // is read behind the block before it is written.
  template <class Live>
  void read(const Function& f, size_t begin, size_t end, const Live& live) {
    std::vector<int> now(size_t(f.registers) + 1, -1), stack;
    auto add = [&](BlockValue::Kind kind, int index, int node = -1) {
      values.push_back({kind, index, node, 0});
      return int(values.size()) - 1;
    };
    auto pop = [&] {
      if (stack.empty()) return add(BlockValue::Below, below++);
      int top = stack.back();
      stack.pop_back();
      return top;
    };
    std::vector<int> written;
    for (size_t pc = begin; pc < end; ++pc) {
      const Instruction& i = f.code[pc];
      switch (i.op) {
        case Opcode::LOADC: stack.push_back(add(BlockValue::Constant, i.x)); continue;
        case Opcode::LOAD: {
          int& value = now[size_t(i.x)];
          if (value < 0) value = add(BlockValue::Register, i.x);
          stack.push_back(value);
          continue;
        }
        case Opcode::STORE:
        case Opcode::STOREN:
          for (int k = i.op == Opcode::STORE ? 1 : i.n; k-- > 0;) {
            now[size_t(i.x + k)] = pop();
            written.push_back(i.x + k);
          }
          continue;
        case Opcode::DROP: pop(); continue;
        default: break;
      }
      BlockNode node{pc, i, {}, 0, 0};
      node.inputs.resize(size_t(pops_of(f, i)));
      for (size_t k = node.inputs.size(); k-- > 0;) {
        node.inputs[k] = pop();
        ++values[size_t(node.inputs[k])].uses;
      }
      node.first = int(values.size());
      node.count = int(pushes_of(f, i));
      for (int k = 0; k < node.count; ++k) {
        stack.push_back(add(BlockValue::Result, k, int(nodes.size())));
      }
      nodes.push_back(std::move(node));
    }
    std::sort(written.begin(), written.end());
    written.erase(std::unique(written.begin(), written.end()), written.end());
    for (int reg : written) {
      int value = now[size_t(reg)];
      const BlockValue& v = values[size_t(value)];
      if (!live(reg) || (v.kind == BlockValue::Register && v.index == reg)) continue;
      bindings.push_back({reg, value});
      ++values[size_t(value)].uses;
    }
    left = std::move(stack);
    for (int value : left) ++values[size_t(value)].uses;
  }
};

}  // namespace scriptlang::optimize
