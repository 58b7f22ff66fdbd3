// The Python class of a program: decodes bytecode from Python values and runs functions.
#include "python_program.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "../kernels/parallel.h"
#include "autograd/asks.h"
#include "convert.h"
#include "errors.h"
#include "grad_mode.h"
#include "interrupts.h"
#include "lower/code.h"
#include "names.h"
#include "outside.h"
#include "record.h"
#include "values/walk.h"

namespace scriptlang::python {

namespace {

// If a callback has raised a Python exception, raises an Error that carries it through the engine.
void check_callback() {
  if (!PyErr_Occurred()) return;
  nb::python_error error;
  raise(ErrorKind::RuntimeError, error.what());
}

// Calls a Python function from a run. It may call programs, so the run releases its turn meanwhile.
template <class F>
void call_outside(void* outside, F&& body) {
  Turn::Pause pause(static_cast<Outside*>(outside)->turn);
  try {
    with_python(body);
  } catch (...) {
    pause.over();
    throw;
  }
  pause.over(for_signals());
}

void print_holding(const char* text, size_t size) {
  PyObject* out = PySys_GetObject("stdout");  // borrowed
  if (!out || out == Py_None) return;
  PyObject* line = PyUnicode_DecodeUTF8(text, Py_ssize_t(size), "replace");
  if (line) PyFile_WriteObject(line, out, Py_PRINT_RAW);
  Py_XDECREF(line);
  check_callback();
}

void print_to_python(const char* text, size_t size, void* outside) {
  call_outside(outside,
               [line = std::string(text, size)] { print_holding(line.data(), line.size()); });
}

void warn_to_python(const char* text, size_t size, void* outside) {
  call_outside(outside, [message = std::string(text, size)] {
    PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1);
    check_callback();
  });
}

}  // namespace

Outside* outside_of(const Context& context) {
  bool is_ours = context.print == print_to_python;
  return is_ours ? static_cast<Outside*>(context.print_user) : nullptr;
}

void raise_through(Outside* outside, nb::python_error& error) {
  nb::object value = nb::borrow(error.value());
  Error made(ErrorKind::RuntimeError, nb::str(value).c_str());
  made.class_name = nb::cast<std::string>(nb::str(error.type().attr("__name__")));
  if (outside) {
    outside->raised = std::make_unique<Outside::Raised>();
    *outside->raised = {value, made.class_name, made.message};
  }
  throw made;
}

void set_raised(const Outside& outside, const Error& error) {
  const nb::object& raised = outside.raised->exception;
  if (PyObject_IsInstance(raised.ptr(), PyExc_Exception) != 1) {  // KeyboardInterrupt, SystemExit
    PyErr_SetObject(raised.type().ptr(), raised.ptr());
    return;
  }
  set_python_error(error);
  const Outside::Raised& last = *outside.raised;
  if (error.class_name != last.class_name || error.message != last.message) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (PyObject_SetAttrString(value, "original", raised.ptr()) != 0) PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

PythonProgram::PythonProgram(nb::tuple functions, nb::dict types)
    : failure(nb::none()), types_(types) {
  auto classes = std::make_shared<ClassTable>();
  for (auto [name, type] : types) {
    if (!nb::hasattr(type, "fields")) classes->add(nb::cast<std::string>(name), class_of(type));
  }
  ToNative convert;
  Value tree = convert(functions);
  if (convert.domain()) domain_ = convert.domain();
  program_ = Program::decode(tree, classes);
  has_open_constants_ = has_open_constants(*program_);
  for (const auto& function : program_->functions()) {
    for (const TypeRef& type : function->types) {
      nb::str name(type->name.c_str());
      if (type->kind == TypeKind::NamedTuple && types.contains(name)) {
        type->host = host_of(types[name]);
      }
    }
  }
}

bool PythonProgram::has_open_constants(const Program& program) {
  bool found = false;
  for (const auto& function : program.functions()) {
    for (const Value& constant : function->constants) {
      walk(constant, [&](const Value& v) {
        found = found || v.is_object() || v.is_dict() || v.is_future();
        return !found;
      });
    }
  }
  return found;
}

nb::object PythonProgram::run(const std::string& name, nb::list arguments, const Limits& limits,
                              int64_t most_values) {
  const Function* function = program_->find(name);
  if (!function) raise(ErrorKind::RuntimeError, "the program has no function ", name);
  std::vector<Value> values;
  Result result;
  ToNative convert;
  convert.watch();
  convert.note(&result.passed);
  for (nb::handle argument : arguments) values.push_back(convert(argument));
  run(*function, std::move(values), convert.take_domain(), limits, &result);
  if (scriptlang::keeps_values(*program_, *function)) convert.keep_identity();
  nb::object converted = result.convert(most_values);
  convert.tell_shapes();
  return converted;
}

nb::tuple PythonProgram::record(const std::string& name, nb::list arguments, nb::list wanted,
                                nb::list leaves, const Limits& limits, int64_t most_values) {
  const Function* function = program_->find(name);
  if (!function) raise(ErrorKind::RuntimeError, "the program has no function ", name);
  std::vector<Value> values;
  ToNative convert;
  Passed passed;  // what is a view of an argument has its Storage in Python, too
  convert.watch();
  convert.note(&passed);
  for (nb::handle argument : arguments) values.push_back(convert(argument));
  Recorder alone;
  Recording recording(wanted, leaves);
  {
    DomainRef domain = convert.domain();
    Turn turn;
    if (domain) look(&turn, domain, false);
    recording.take(convert, values);
  }
  Result result;
  run(*function, std::move(values), convert.take_domain(), limits, &result, true);
  ToPython back(most_values, *result.domain);
  recording.note(&passed);
  back.know(&passed);
  // Before the result is converted, which then has the same Tensors.
  nb::tuple made =
      recording.finish(result.value, back, effect_of(*program_, *function) != Effect::Reads);
  nb::object converted = back(result.value);
  convert.tell_shapes();
  return nb::make_tuple(converted, made);
}

void PythonProgram::enter(const std::string& name, nb::list arguments, size_t positional) {
  main_ = program_->find(name);
  if (!main_) raise(ErrorKind::RuntimeError, "the program has no function ", name);
  entry_ = std::make_unique<Entry>(arguments, positional);
}

bool PythonProgram::call(const Given& given, const Limits& limits, Result* result) const {
  std::vector<Value> values;
  ToNative convert;
  // A program that keeps a tensor has to give the same one back later: `run` sees to that.
  if (given.is_unrecorded && !keeps_values()) convert.take_any();
  if (!entry_ || !entry_->take(given, values, convert, &result->passed)) return false;
  result->kept.keep(values);
  run(*main_, std::move(values), convert.take_domain(), limits, result);
  return true;
}

void PythonProgram::run(const Function& function, std::vector<Value> values, DomainRef of_arguments,
                        const Limits& limits, Result* result, bool records) const {
  bool has_objects = bool(of_arguments);
  if (has_open_constants_ && has_objects) join_domains(of_arguments, domain_);
  result->of_arguments = std::move(of_arguments);
  if (!has_objects) result->domain = &domain_;
  Effect effect = effect_of(*program_, function);
  // A run that only reads and was passed no object needs no turn in a domain, only in the process.
  Domain* asked = has_objects || has_open_constants_ || effect != Effect::Reads
                      ? result->domain->get()
                      : nullptr;
  bool has_turn = result->turn.try_take(asked, effect);
  Context context;
  context.threads = kernels::thread_count();
  context.grad_enabled = grad_enabled;
  context.records = records;
  context.print = print_to_python;
  context.warn = warn_to_python;
  Outside outside{&result->turn, nullptr};
  context.print_user = context.warn_user = &outside;
  Interrupts interrupts;
  context.interrupted = Interrupts::ask;
  context.interrupted_user = &interrupts;
  try {
    WithoutPython released;
    if (!has_turn) result->turn.take(asked, effect, for_signals(), limits.milliseconds);
    result->value = scriptlang::run(*program_, function, std::move(values), context, limits);
    if (!interrupts.raised()) return;  // a signal may arrive when the run is almost finished
  } catch (const Error& error) {
    if (!interrupts.raised()) {
      if (!outside.raised) throw;
      set_raised(outside, error);
      throw nb::python_error();
    }
  } catch (...) {
    if (!interrupts.raised()) throw;
  }
  interrupts.restore();
  throw nb::python_error();
}

nb::dict PythonProgram::missing() const {
  nb::dict counts;
  for (const MissingOperator& m : program_->missing()) counts[m.name.c_str()] = m.count;
  return counts;
}

std::vector<const Function*> PythonProgram::reached() const {
  if (main_) return autograd::reached(*program_, *main_);
  std::vector<const Function*> all;
  for (const auto& function : program_->functions()) all.push_back(function.get());
  return all;
}

bool PythonProgram::calls_any(const std::vector<std::string>& operators) const {
  for (const Function* function : reached()) {
    for (const OperatorUse& use : function->operators) {
      const std::string name = use.qualified_name();
      if (std::find(operators.begin(), operators.end(), name) != operators.end()) return true;
    }
  }
  return false;
}

bool PythonProgram::asks_for_gradients() const {
  return main_ ? autograd::differentiates(*program_, *main_) : autograd::asks(*program_);
}

bool PythonProgram::keeps_values(const std::string& name) const {
  const Function* function = program_->find(name);
  if (!function) raise(ErrorKind::RuntimeError, "the program has no function ", name);
  return scriptlang::keeps_values(*program_, *function);
}

bool PythonProgram::keeps_values() const {
  return !main_ || scriptlang::keeps_values(*program_, *main_);
}

std::string PythonProgram::register_code() const {
  std::string text;
  for (const auto& function : program_->functions()) text += lower::print_code(*function) + "\n";
  return text;
}

std::vector<std::string> PythonProgram::functions() const {
  std::vector<std::string> names;
  for (const auto& function : program_->functions()) names.push_back(function->name);
  return names;
}

int PythonProgram::traverse(PyObject* self, visitproc visit, void* arg) {
#if PY_VERSION_HEX >= 0x03090000
  Py_VISIT(Py_TYPE(self));
#endif
  if (!nb::inst_ready(self)) return 0;
  PythonProgram* program = nb::inst_ptr<PythonProgram>(self);
  Py_VISIT(program->types_.ptr());
  Py_VISIT(program->failure.ptr());
  return program->entry_ ? program->entry_->traverse(visit, arg) : 0;
}

int PythonProgram::clear(PyObject* self) {
  PythonProgram* program = nb::inst_ptr<PythonProgram>(self);
  program->types_.reset();
  program->failure.reset();
  program->entry_.reset();
  return 0;
}

PyType_Slot PythonProgram::slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&PythonProgram::traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(&PythonProgram::clear)},
    {0, nullptr},
};

}  // namespace scriptlang::python
