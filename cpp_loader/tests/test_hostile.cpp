// Bytecode that nobody's compiler writes: lowering it ends soon, however its blocks, its stack and
// its jumps lie. Work that grows with the square of these programs' size would take minutes.
#include "lowered.h"

using namespace scriptlang;
using namespace test;

namespace {

void push_many(Code* code, int64_t depth) {
  code->constants = {Value(true), Value(0)};
  code->types = {Value("List[int]")};
  for (int64_t k = 0; k < depth; ++k) code->emit("LOADC", 1);
}

}  // namespace

TEST(many_blocks_on_a_deep_stack) {
  constexpr int64_t kDepth = 40000, kBlocks = 200000;
  Code code;
  push_many(&code, kDepth);
  for (int64_t k = 0; k < kBlocks; ++k) code.emit("LOADC", 0).emit("JF", 1);
  code.emit("TUPLE_CONSTRUCT", kDepth).emit("RET");
  CHECK_EQ(outcome({code}, {}, false, Limits()).size(), size_t(3 * kDepth));
}

TEST(many_loops_on_a_deep_stack) {
  constexpr int64_t kDepth = 40000, kLoops = 50000;
  Code code;
  push_many(&code, kDepth);
  for (int64_t k = 0; k < kLoops; ++k) {
    code.emit("LOADC", 1).emit("LOADC", 1).emit("LOADC", 0).emit("LOOP", 4, 2);
    code.emit("DROP").emit("LOADC", 0).emit("JMP", -3);
  }
  code.emit("TUPLE_CONSTRUCT", kDepth).emit("RET");
  CHECK_EQ(outcome({code}, {}, false, Limits()).size(), size_t(3 * kDepth));
}

// Each block jumps back to the one before it, so that control goes against the order of the blocks.
TEST(blocks_in_reverse_order) {
  constexpr int64_t kBlocks = 200000;
  Code code;
  code.argument("int");
  code.constants = {Value(true)};
  code.emit("STORE", 1).emit("JMP", 3 * kBlocks);
  code.emit("LOAD", 1).emit("RET").emit("LOADC", 0);
  for (int64_t k = 1; k < kBlocks; ++k) {
    code.emit("JF", k > 1 ? -4 : -3).emit("JMP", k > 1 ? -5 : -4).emit("LOADC", 0);
  }
  code.emit("JF", -4).emit("JMP", -5);
  CHECK_EQ(outcome({code}, {Value(7)}, false, Limits()), "7");
}

TEST(tuples_that_are_unpacked_to_all_registers) {
  constexpr int64_t kParts = 2000, kTimes = 2000;
  Code code;
  code.argument("Any");
  code.registers = kParts;
  int64_t unpack = code.op("prim::TupleUnpack", "", 1);
  code.emit("STORE", 1);
  for (int64_t k = 0; k < kTimes; ++k) {
    code.emit("LOAD", 1).emit("OP", unpack).emit("STOREN", 1, kParts);
  }
  code.emit("LOAD", 1).emit("RET");
  CHECK_EQ(outcome({code}, {Value(7)}, false).substr(0, 10), "TypeError:");
}

TEST(code_that_moves_too_much_is_refused) {
  constexpr int64_t kParts = 1 << 19;
  Code code;
  code.argument("Any");
  code.registers = kParts;
  int64_t unpack = code.op("prim::TupleUnpack", "", 1);
  code.emit("STORE", 1);
  for (int64_t k = 0; k < 40; ++k) {
    code.emit("LOAD", 1).emit("OP", unpack).emit("STOREN", 1, kParts);
  }
  code.emit("LOAD", 1).emit("RET");
  CHECK_RAISES(ArchiveError, "the code moves too many values", decode({code}));
}

int main(int count, char** arguments) { return test::main(count, arguments); }
