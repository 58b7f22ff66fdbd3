// The emitter: the body of one function to bytecode.
//
// A variable has a register of its own for the whole function; what an expression gives is on the
// stack. An expression may also stand for something that is no value (`torch.add`, a method, a
// class): that is its Meaning.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "assembler.h"
#include "declarations.h"

namespace scriptlang::source {

// What the functions of one archive share while they are compiled.
class Session {
 public:
  virtual ~Session() = default;
  // The function of a routine, to be compiled later where it was not yet.
  virtual Function* function_of(Routine* routine) = 0;
  // A function that only one place calls (a fork's body).
  virtual Function* make_function(const std::string& name) = 0;
  // The body of an operator without a kernel; null where there is none.
  virtual Routine* body_of(const Signature& signature) = 0;
  // What a call of an operator tries; in old files some overloads are functions that do what these
  // once did.
  virtual const Candidates& candidates(const std::string& name) = 0;
  // A function of the library's own bodies that is called by its bare name there; else null.
  virtual Routine* helper(const SourceFile& file, std::string_view name) = 0;
  // An object of the class may exist from here on.
  virtual void makes(Declared* declared) = 0;
  virtual Declarations& declarations() = 0;
};

struct Meaning {
  enum Kind : uint8_t {
    OnStack,     // one value, on the stack
    Constant,    // `constant`, not yet on the stack
    Several,     // the results of an operator, on the stack
    Nothing,     // None, of an operator that gives nothing
    Namespace,   // name: torch, ops, ops.prim, __torch__.a
    Operator,    // name: aten::add; with `bound` its first argument is on the stack
    Routine_,    // routine
    Method,      // routine; the object is on the stack
    Class,       // declared
    TupleClass,  // type
    Form,        // name: annotate, int, ...
  };
  Kind kind = OnStack;
  bool bound = false;
  bool unknown = false;  // of an operator without schema: is what it is declared to be
  T type = nullptr;
  Openness open;
  Value constant;
  std::string name;
  Routine* routine = nullptr;
  Declared* declared = nullptr;
  std::vector<T> several;
  bool is_value() const { return kind <= Nothing; }
};

// An argument on the stack: the code that pushed it.
struct Operand {
  T type = nullptr;
  Openness open;
  std::string_view name;
  size_t begin = 0, end = 0;
  bool unknown = false;
  bool whole = true;  // what made it is right before `end`
};

struct Variable {
  T type = nullptr;
  int place = 0;  // register; 0 for what is no value
  Meaning meaning;
  const Node* local = nullptr;  // a function inside the function
  bool gone = false;            // bound in one branch only: no value
};

struct Frame {
  std::unordered_map<std::string_view, Variable> values;
};

class Emitter {
 public:
  Emitter(Session* session, const Routine& routine, Function* function);
  void run();

 private:
  friend class Forks;
  Emitter(Emitter* outer, Function* function);  // of a fork's body

  template <class... Parts>
  [[noreturn]] void fail(const Node& node, const Parts&... parts) const {
    refuse(file_.name, node.line, parts...);
  }

  // statements.cpp
  void begin();
  void statements(Row body);
  void statement(const Node& node);
  void leave_out();
  void assign(const Node& node);
  void annotated(const Node& node);
  void store_in(const Node& target, Meaning value, const Node& node);
  void bind(std::string_view name, Meaning value, const Node& node, T declared = nullptr);
  void unpack(Row targets, Meaning value, const Node& node);
  void set_attribute(const Node& target, const Node& value);
  void leave(const Node& node);
  void leave_with(const Node& node, Meaning result);
  void raise_exception(const Node& node);
  void assertion(const Node& node);

  // flow.cpp
  void conditional(const Node& node);
  void merge(const Frame& then, const Frame& other, bool then_on, bool other_on);
  const Variable* find_in(const Frame& frame, std::string_view name) const;
  void while_loop(const Node& node);
  void for_loop(const Node& node);
  void with(const Node& node);
  void loop_body(const Node& node, size_t head, const Node* condition, const Node* target, int list,
                 T element);
  size_t count_of(const Node& iterable, int* list, T* element);
  void leave_turn(const Node& node);
  void condition(const Node& node);  // pushes a bool
  Meaning choice(const Node& node, T expected);
  Meaning both(const Node& node);
  void call_method_of(const Meaning& owner, const char* method, const Node& node);

  // expressions.cpp
  Meaning expression(const Node& node, T expected = nullptr);
  T push(const Node& node, T expected = nullptr);  // as a value; its type
  T push(Meaning* meaning, const Node& node);
  Meaning name(const Node& node);
  Meaning attribute(const Node& node);
  Meaning member(const std::string& space, const Node& node);
  Meaning class_member(Declared* declared, const Node& node);
  Meaning value_member(T type, const Node& node);
  Meaning subscript(const Node& node, T expected);
  Meaning slice(const Node& node, T owner);
  Meaning tuple(const Node& node);
  Meaning list(const Node& node, T expected);
  Meaning dict(const Node& node, T expected);
  Meaning binary(const Node& node);
  Meaning unary(const Node& node);
  Meaning constant_of(Value value, T type);
  Meaning on_stack(T type);
  Meaning compare(const Node& node);
  void to_bool(T type, const Node& node);

  // calls.cpp
  Meaning call(const Node& node, T expected);
  std::vector<Operand> arguments(const Node& node);
  Operand operand(const Node& node, T expected = nullptr);
  Meaning call_operator(const std::string& name, std::vector<Operand> operands, const Node& node);
  Meaning call_routine(Routine* routine, std::vector<Operand> operands, const Node& node);
  Meaning call_unknown(const std::string& name, const Node& node);
  Meaning call_value(Meaning callee, Operand owner, const Node& node);
  Meaning make_named_tuple(T type, std::vector<Operand> operands, const Node& node);
  Match matched(const Candidates& candidates, const std::vector<Operand>& operands,
                const Node& node);
  // The operands become the arguments of the signature: conversions, defaults, order. All formals,
  // or up to the last that is given; how many are on the stack.
  int materialise(const Match& match, std::vector<Operand> operands, bool all);
  void reorder(const Match& match, std::vector<Operand>* operands);
  Meaning finish_operator(const Match& match, std::vector<Operand> operands, const Node& node);
  void convert_at(const Operand& operand, const Step& step);
  void convert_parts(size_t at, T tuple, const Step& step);
  bool fold_list(const Operand& operand);
  // The value on top of the stack as one of a type; perhaps still of another.
  T convert(T actual, T wanted, bool implicit, const Openness& open);
  void push_default(size_t at, const Formal& formal, bool fresh_lists);
  std::vector<Operand> one(T type, size_t begin);

  // forms.cpp
  Meaning form(const std::string& name, const Node& node, T expected);
  Meaning annotate(const Node& node);
  Meaning cast(const std::string& name, const Node& node);
  Meaning is_instance(const Node& node);
  Meaning get_attribute(const Node& node);
  Meaning fork(const Node& node, bool at_once);
  Meaning length(const Node& node);
  Meaning to_list(const Node& node, T wanted);
  void instance_types(const Node& node, std::vector<T>* out);
  T fork_body(const Node& local, const std::vector<std::string_view>& captured, Function* made);

  const Variable* find(std::string_view name) const;
  const Variable* find_outer(std::string_view name) const;  // not in the innermost frame
  int place_of(std::string_view name);
  // What a register holds; several types are none.
  void note_type(int place, T type);
  void finish_types();

  Session& session_;
  Declarations& declarations_;
  Types& types_;
  const SourceFile& file_;
  const Routine* routine_;
  Function& f_;
  Assembler code_;
  T result_;
  std::vector<Frame> frames_;
  std::unordered_map<std::string_view, int> places_;
  std::vector<T> held_;                           // by register; null where not known
  std::unordered_map<std::string, Value> lists_;  // constant lists of numbers
  struct Loop {
    size_t head;
    const Node* condition;  // of a while
  };
  std::vector<Loop> loops_;
  struct Entered {
    int place;
    T type;
  };
  std::vector<Entered> entered_;
  std::string unknown_;  // the operator without schema that was called last
};

}  // namespace scriptlang::source
