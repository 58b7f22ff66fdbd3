// The emitter: compiles the body of one function to bytecode, in one walk over its syntax nodes.
//
// A variable has a register of its own for the whole function. The value of an expression is on the
// stack. An expression may also stand for something that is no value (`torch.add`, a method, a
// class): its Meaning says what.
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
  // The function of a routine. It will be compiled later, if it was not yet.
  virtual Function* function_of(Routine* routine) = 0;
  // Makes a function that only one call uses (the body of a fork).
  virtual Function* make_function(const std::string& name) = 0;
  // The body of an operator without a kernel; null if there is none.
  virtual Routine* body_of(const Signature& signature) = 0;
  // The overloads that a call of an operator may mean. For old files some of them are functions
  // that do what the overload did then.
  virtual const Candidates& candidates(const std::string& name) = 0;
  // Bodies of the library call helper functions by a bare name: the helper of this name, or null.
  virtual Routine* helper(const SourceFile& file, std::string_view name) = 0;
  // The function that sorts a list of objects in place of the operator of this name; null for other
  // operators and lists.
  virtual Routine* sorting(const std::string& name, T list) = 0;
  // Notes that the program makes objects of a class, so that its methods will be compiled.
  virtual void makes(Declared* declared) = 0;
  virtual Declarations& declarations() = 0;
};

// What an expression stands for.
struct Meaning {
  enum Kind : uint8_t {
    OnStack,     // one value, on the stack
    Constant,    // `constant`, not yet on the stack
    Several,     // the results of an operator, on the stack
    Nothing,     // None, as the result of an operator without results
    Namespace,   // name: torch, ops, ops.prim, __torch__.a
    Operator,    // name: aten::add; with `bound` its first argument is on the stack
    Routine_,    // routine
    Method,      // routine; the object is on the stack
    Class,       // declared
    TupleClass,  // type
    Form,        // name: a special form or builtin, such as annotate and int (forms.cpp)
  };
  Kind kind = OnStack;
  bool bound = false;
  // The result of an operator without a schema. It is taken to be of any type that is needed.
  bool unknown = false;
  T type = nullptr;
  Openness open;
  Value constant;
  std::string name;
  Routine* routine = nullptr;
  Declared* declared = nullptr;
  std::vector<T> several;
  bool is_value() const { return kind <= Nothing; }
};

// An argument on the stack, with the code that pushed it: instructions begin, ..., end - 1.
struct Operand {
  T type = nullptr;
  Openness open;
  std::string_view name;
  size_t begin = 0, end = 0;
  bool unknown = false;
  bool whole = true;  // whether the instruction before `end` made it
};

// What a name stands for.
struct Variable {
  T type = nullptr;
  int place = 0;  // its register; 0 if it is no value
  Meaning meaning;
  const Node* local = nullptr;  // the node of a nested function
  bool gone = false;            // undefined here, because only one branch bound it
};

// The names that a block of code binds.
struct Frame {
  std::unordered_map<std::string_view, Variable> values;
};

class Emitter {
 public:
  Emitter(Session* session, const Routine& routine, Function* function);
  void run();

 private:
  friend class Forks;
  Emitter(Emitter* outer, Function* function);  // for the body of a fork

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
  T push(const Node& node, T expected = nullptr);  // pushes its value; returns the type
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
  std::vector<Operand> arguments(const Node& node, bool second_is_number = false);
  Operand second_operand(const Node& node);
  Operand operand(const Node& node, T expected = nullptr);
  Meaning call_operator(const std::string& name, std::vector<Operand> operands, const Node& node);
  Meaning call_routine(Routine* routine, std::vector<Operand> operands, const Node& node);
  Meaning call_unknown(const std::string& name, const Node& node);
  Meaning call_value(Meaning callee, Operand owner, const Node& node);
  void check_autocast(const std::string& type, const Node& node);
  Meaning make_named_tuple(T type, std::vector<Operand> operands, const Node& node);
  Match matched(const Candidates& candidates, const std::vector<Operand>& operands,
                const Node& node);
  // Turns the operands on the stack into the arguments of the signature: inserts conversions and
  // defaults, and reorders them. With `all`, for all formals, else up to the last that is given.
  // Returns how many arguments are on the stack.
  int materialise(const Match& match, std::vector<Operand> operands, bool all);
  void reorder(const Match& match, std::vector<Operand>* operands);
  Meaning finish_operator(const Match& match, std::vector<Operand> operands, const Node& node);
  void convert_at(const Operand& operand, const Step& step);
  void convert_parts(size_t at, T tuple, const Step& step);
  bool fold_list(const Operand& operand);
  // Converts the value on top of the stack to a type, if there is a conversion. Returns its type
  // then, which may still be another.
  T convert(T actual, T wanted, bool implicit, const Openness& open);
  void push_default(size_t at, const Formal& formal, bool fresh_lists);
  std::vector<Operand> one(T type, size_t begin);

  // forms.cpp
  Meaning form(const std::string& name, const Node& node);
  Meaning annotate(const Node& node);
  Meaning cast(const std::string& name, const Node& node);
  Meaning is_instance(const Node& node);
  Meaning get_attribute(const Node& node);
  Meaning fork(const Node& node, bool at_once);
  Meaning length(const Node& node);
  Meaning to_list(const Node& node, T wanted);
  void instance_types(const Node& node, std::vector<T>* out);
  T fork_body(const Node& local, const std::vector<std::string_view>& captured, Function* made);

  // The variable of a name; null if there is none, or it is gone.
  const Variable* find(std::string_view name) const;
  const Variable* find_outer(std::string_view name) const;  // without the innermost frame
  int place_of(std::string_view name);                      // its register
  // Notes the type that a register holds. A register that holds several types is Any.
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
  std::vector<T> held_;                           // by register: its type; null: not known
  std::unordered_map<std::string, Value> lists_;  // constant lists of numbers, by their contents
  struct Loop {
    size_t head;
    const Node* condition;  // of a while; null for a for
  };
  std::vector<Loop> loops_;
  // An object whose `with` is open, and the register that holds it.
  struct Entered {
    int place;
    T type;
  };
  std::vector<Entered> entered_;
  std::string unknown_;  // the operator without schema that was called last
};

}  // namespace scriptlang::source
