// A program as Python holds it: made of tuple trees, run with Python values.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "convert.h"
#include "entry.h"
#include "machine/vm.h"

namespace scriptlang::python {

namespace nb = nanobind;

constexpr int64_t kDepth = 1000;  // of calls inside calls; as scriptlang.Limits has it

class PythonProgram {
 public:
  // functions, types: as the module's own text says. Raises Error for what cannot be verified.
  PythonProgram(nb::tuple functions, nb::dict types);

  // Of a program that is there. `domain`: of its constants, of which some may be `open` for runs
  // to write to.
  PythonProgram(std::shared_ptr<const Program> program, DomainRef domain, bool open, nb::dict types)
      : failure(nb::none()),
        types_(std::move(types)),
        program_(std::move(program)),
        domain_(std::move(domain)),
        has_open_constants_(open) {}
  static bool has_open_constants(const Program& program);

  nb::object run(const std::string& name, nb::list arguments, const Limits& limits,
                 int64_t most_values);

  // Runs a function while derivatives are recorded. wanted: Tensors whose gradients are wanted;
  // leaves: whether each is a leaf. The result, and what Recording::finish gives.
  nb::tuple record(const std::string& name, nb::list arguments, nb::list wanted, nb::list leaves,
                   const Limits& limits, int64_t most_values);

  // Makes `call` run a function: its name, and what Entry takes.
  void enter(const std::string& name, nb::list arguments, size_t positional);

  // The result of a call, which is converted while the run has its turn.
  struct Result {
    DomainRef of_arguments;             // outlives the turn
    DomainRef* domain = &of_arguments;  // or the program's, which the caller keeps
    Turn turn;
    Value value;
    nb::object convert(int64_t most) { return ToPython(most, *domain)(value); }
  };

  // Nothing is run, and the answer is false, where Python has to look at the arguments.
  bool call(const Given& given, const Limits& limits, Result* result) const;

  nb::dict missing() const;
  // Of the function that `call` runs and those that it may call; of all where there is none.
  bool asks_for_gradients() const;
  bool calls_any(const std::vector<std::string>& operators) const;  // by qualified names
  bool sets_attributes() const;
  std::string register_code() const;  // of every function
  std::vector<std::string> functions() const;

  // What makes an exception of Python of a NativeError that a Caller has met.
  nb::object failure;

  // A program's types have methods that keep their programs: the collector must see the ring.
  static PyType_Slot slots[];

 private:
  void run(const Function& function, std::vector<Value> values, DomainRef of_arguments,
           const Limits& limits, Result* result, bool records = false) const;
  std::vector<const Function*> reached() const;
  static int traverse(PyObject* self, visitproc visit, void* arg);
  static int clear(PyObject* self);

  nb::dict types_;  // keeps the Python types alive that the program's classes refer to weakly
  std::shared_ptr<const Program> program_;
  // Of what runs without an object write, and of constants.
  mutable DomainRef domain_{Domain::make()};
  bool has_open_constants_ = false;  // constants that a run may write to
  const Function* main_ = nullptr;
  std::unique_ptr<Entry> entry_;
};

}  // namespace scriptlang::python
