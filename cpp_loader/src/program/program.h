// A program: functions in bytecode, decoded from the tuple tree of bytecode.pkl.
//
// Decoding checks the shape of the tree and resolves names; verify() proves that the code cannot
// leave its stack, registers and tables. Only then may vm.h run it. A program does not change
// after it is made; threads share it.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fusion/fused_group.h"
#include "ops/optable.h"
#include "program/opcodes.h"
#include "values/type.h"

namespace scriptlang {

const char* opcode_name(Opcode op);

// An operator as one function of a program uses it.
struct OperatorUse {
  std::string name, overload;
  int given = -1;                  // arguments on the stack; -1: all, or as many as OPN says
  const OpEntry* entry = nullptr;  // null: missing
  int total = 0, results = 0;
  bool variadic = false;
  int trailing_out = 0;         // how many of the given ones are out arguments, behind the defaults
  std::vector<Value> defaults;  // of the arguments that are not given
  std::string qualified_name() const { return overload.empty() ? name : name + "." + overload; }
};

// The offsets at which the lines of a text begin.
using LineStarts = std::vector<uint32_t>;
// The line, counted from 1, in which an offset of the text lies.
inline uint32_t line_of(const LineStarts& starts, uint32_t offset) {
  return uint32_t(std::upper_bound(starts.begin(), starts.end(), offset) - starts.begin());
}

struct Function;

struct Instruction {
  Opcode op;
  uint8_t results = 0;     // OP_ONE, OP_ANY: number of results
  uint16_t arguments = 0;  // OP_ONE, OP_ANY: number of arguments on the stack
  int32_t x = 0, n = 0;    // the operands; opcodes.def says what they mean
  OpFn run = nullptr;      // OP_ONE, OP_ANY: the kernel
};

namespace lower {
struct Code;
void destroy(const Code* code) noexcept;
}  // namespace lower

// A call that was inlined: the code of the callee lies in the caller.
struct InlinedCall {
  const Function* function;  // the callee
  uint32_t line;             // of the call
  int32_t caller;            // the call that the calling code came from; -1: none
};

struct Function {
  Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  ~Function() {
    lower::destroy(lowered.load(std::memory_order_acquire));
    delete recorded.load(std::memory_order_acquire);
  }

  std::string name;  // "__torch__.M.forward"
  std::vector<Instruction> code;
  std::vector<OperatorUse> operators;
  std::vector<Value> constants;
  std::vector<TypeRef> types;
  std::vector<const Function*> callees;  // the functions that CALL, FORK and others name by index
  std::vector<std::string> callee_names;
  // The callees in this range are pairs: a graph of forward and backward for calls that would have
  // to be recorded, and before it what gives whether a call is of the kind that it was made for.
  // Both take what this function takes.
  size_t straights = 0, straights_end = 0;
  bool is_closed = false;  // whether they run even if the host wants gradients
  int registers = 0;
  std::vector<TypeRef> register_types;  // empty, or by register; null: not known
  std::vector<Argument> arguments, returns;
  std::string file;             // the source file that it was compiled from; empty for bytecode
  std::vector<uint32_t> lines;  // by instruction: its place, an offset in the file; or empty
  std::shared_ptr<const LineStarts> line_starts;  // of the file; null: `lines` has line numbers
  std::vector<InlinedCall> inlined;
  std::vector<int32_t> calls;  // by instruction: the item of `inlined` it came from; -1: none
  std::vector<std::unique_ptr<Function>> parts;  // bodies of fused groups that only it calls
  std::string refusal;                           // why it cannot run, if its source was refused
  bool has_schema = false;
  bool is_raw = false;   // compiled from source; it is optimised (optimize/) before it runs
  bool is_part = false;  // the body of a fused group, called by FUSED
  int results = 1;       // values on the stack at RET
  int parameters = 0;    // values on the stack at entry
  int max_stack = 0;     // set by verify
  mutable std::atomic<const lower::Code*> lowered{nullptr};  // made at the first call
  // The function that runs instead while derivatives are recorded; made when first needed. It has
  // no bytecode itself: its register code is lowered from the bytecode of `recorded_of`, with steps
  // that record.
  mutable std::atomic<const Function*> recorded{nullptr};
  const Function* recorded_of = nullptr;
  mutable std::atomic<int8_t> effect{-1};  // what effects.h tells of it; -1: not computed yet
  // Whether it computes derivatives itself (autograd/asks.h); -1: not known yet.
  mutable std::atomic<int8_t> differentiates{-1};
  std::unique_ptr<FusedGroup> group;  // of a fused group: the compiled form of its body
};

struct MissingOperator {
  std::string name;  // "aten::foo.bar"
  int count = 0;     // instructions that name it
};

// The classes of a program, by qualified name.
class ClassTable {
 public:
  ClassRef get(const std::string& name);          // made when absent
  ClassRef find(const std::string& name) const {  // null when absent
    auto it = classes_.find(name);
    return it == classes_.end() ? ClassRef() : it->second;
  }
  // Adds a class under another name, if two classes have the same one.
  void add(const std::string& name, ClassRef cls);
  const std::string& name_of(
      const ClassType& cls) const;  // the name that add() gave it, or its own
  ClassResolver resolver();

 private:
  std::unordered_map<std::string, ClassRef> classes_;
  std::unordered_map<const ClassType*, std::string> renamed_;
};

// Function -> arguments whose default is None, for functions whose schema does not say so.
using NoneDefaults = std::unordered_map<std::string, std::unordered_set<std::string>>;

// Functions that are called in place of operators: the bodies of composite operators without a
// kernel, and of operators that did something else in the version of PyTorch that wrote the file.
class OperatorBodies {
 public:
  virtual ~OperatorBodies() = default;
  // The function to call in place of the operator, with the same arguments. Null if the operator
  // itself is called.
  virtual const Function* find(const OperatorUse& use) = 0;
  virtual std::vector<std::unique_ptr<Function>> take() = 0;  // all functions that find() made
};

class Program : public std::enable_shared_from_this<Program> {
 public:
  // Makes a program of the tree of bytecode.pkl: (version, function, ...) or (function, ...).
  // Raises ArchiveError for a malformed tree or code that does not verify.
  static std::shared_ptr<const Program> decode(const Value& tree,
                                               std::shared_ptr<ClassTable> classes,
                                               const NoneDefaults& defaults = {},
                                               OperatorBodies* bodies = nullptr);
  // Makes a program of functions that were compiled from source. Each of them is verified; those
  // that are not sound, and their callers, are refused.
  static std::shared_ptr<const Program> assemble(std::vector<std::unique_ptr<Function>> functions,
                                                 std::shared_ptr<ClassTable> classes);

  const Function* find(std::string_view qualified_name) const;
  const Function* method(const ClassType& cls, std::string_view name) const;
  const std::vector<std::unique_ptr<Function>>& functions() const { return functions_; }
  const std::vector<MissingOperator>& missing() const { return missing_; }
  const std::shared_ptr<ClassTable>& classes() const { return classes_; }
  int version() const { return version_; }

 private:
  void decode_function(const Value& tree, class Decoded& decoded);
  void link();
  void use_bodies(OperatorBodies* bodies);
  void finish(bool is_compiled);
  std::vector<std::unique_ptr<Function>> functions_;
  std::unordered_map<std::string, Function*> by_name_;
  std::vector<MissingOperator> missing_;
  std::shared_ptr<ClassTable> classes_;
  int version_ = 8;
};

// Refuses a function: it gets the reason and, so that a program with it verifies, code that nothing
// can call.
void make_refused(Function* function, std::string why);
// Refuses all functions that may call a function that was refused.
void refuse_callers(const std::vector<std::unique_ptr<Function>>& functions);

constexpr int kOldestBytecode = 4, kNewestBytecode = 9;

// How many values an instruction takes off the stack, and puts onto it.
int64_t pops_of(const Function& function, const Instruction& instruction);
int64_t pushes_of(const Function& function, const Instruction& instruction);

// The tags that a value of a kind may have.
TagSet tags_of(bytecode::Kind kind);

bool ends_flow(Opcode op);  // whether no instruction of the function runs after it
bool jumps(Opcode op);      // whether it may go elsewhere than to the next instruction

// Proves that a function stays inside its stack, registers, tables and code, that stack depths
// agree where paths of control meet, and that no argument's type contradicts the operator's schema
// if both are known. Sets max_stack, and specialises the instructions that call operators (OP_ONE
// and others in opcodes.h). Raises ArchiveError that names the function and instruction.
void verify(Function* function);

}  // namespace scriptlang
