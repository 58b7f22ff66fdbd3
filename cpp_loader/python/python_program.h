// The Python class Program: made from tuple trees, run with Python values.
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

constexpr int64_t kDepth = 1000;  // of nested calls; the default of scriptlang.Limits

// Keeps tensors among arguments until the result is converted: their memory is then released with
// the GIL held, and no other tensor gets the address of one.
class Kept {
 public:
  void keep(const std::vector<Value>& values) {
    for (const Value& v : values) {
      if (!v.is_tensor()) continue;
      if (count_ < kFew) few_[count_++] = v.as_tensor();
      else more_.push_back(v.as_tensor());
    }
  }

 private:
  static constexpr size_t kFew = 8;
  Tensor few_[kFew];
  size_t count_ = 0;
  std::vector<Tensor> more_;
};

class PythonProgram {
 public:
  // functions, types: see binding.cpp. Raises Error if the functions cannot be verified.
  PythonProgram(nb::tuple functions, nb::dict types);

  // Wraps an existing program. `domain` is that of its constants; `open` says whether runs may
  // write to some of them.
  PythonProgram(std::shared_ptr<const Program> program, DomainRef domain, bool open, nb::dict types)
      : failure(nb::none()),
        types_(std::move(types)),
        program_(std::move(program)),
        domain_(std::move(domain)),
        has_open_constants_(open) {}
  static bool has_open_constants(const Program& program);

  nb::object run(const std::string& name, nb::list arguments, const Limits& limits,
                 int64_t most_values);

  // Runs a function and records it for derivatives. wanted: Tensors whose gradients are wanted;
  // leaves: whether each is a leaf. Returns the result, and the tuple of Recording::finish.
  nb::tuple record(const std::string& name, nb::list arguments, nb::list wanted, nb::list leaves,
                   const Limits& limits, int64_t most_values);

  // Sets the function that `call` runs; the other arguments are those of Entry.
  void enter(const std::string& name, nb::list arguments, size_t positional);

  // The result of a call, with the turn of the run, so that it can be converted while nobody
  // changes it.
  struct Result {
    DomainRef of_arguments;             // must outlive the turn
    DomainRef* domain = &of_arguments;  // or that of the program, which the caller keeps alive
    Turn turn;
    Kept kept;
    Passed passed;
    Value value;
    nb::object convert(int64_t most) {
      ToPython to_python(most, *domain);
      to_python.know(&passed);
      return to_python(value);
    }
  };

  // Returns false, without running anything, if Python has to convert the arguments.
  bool call(const Given& given, const Limits& limits, Result* result) const;

  // Whether a function may store values in an object or container that others can reach; of the one
  // that `call` runs without a name.
  bool keeps_values(const std::string& name) const;
  bool keeps_values() const;

  nb::dict missing() const;
  // These are about the function that `call` runs and those that it may call; about all functions
  // if `enter` was not called.
  bool asks_for_gradients() const;
  bool calls_any(const std::vector<std::string>& operators) const;  // by qualified names
  std::string register_code() const;                                // of every function
  std::vector<std::string> functions() const;

  // A Python function that makes the exception for users from a NativeError in a Caller.
  nb::object failure;

  // The types of a program have methods that refer to their programs, so the garbage collector must
  // see this reference cycle.
  static PyType_Slot slots[];

 private:
  void run(const Function& function, std::vector<Value> values, DomainRef of_arguments,
           const Limits& limits, Result* result, bool records = false) const;
  std::vector<const Function*> reached() const;
  static int traverse(PyObject* self, visitproc visit, void* arg);
  static int clear(PyObject* self);

  nb::dict types_;  // keeps the Python types alive that the program's classes refer to weakly
  std::shared_ptr<const Program> program_;
  // For runs that are passed no objects, and for constants.
  mutable DomainRef domain_{Domain::make()};
  bool has_open_constants_ = false;  // constants that a run may write to
  const Function* main_ = nullptr;
  std::unique_ptr<Entry> entry_;
};

}  // namespace scriptlang::python
