// Custom operators: Python functions that programs call, with the GIL held, and operators of
// plug-ins, which Python calls by name.
#include "operators.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <scriptlang/scriptlang.h>

#include <optional>
#include <utility>
#include <vector>

#include "../kernels/parallel.h"
#include "convert.h"
#include "grad_mode.h"
#include "machine/arguments.h"
#include "ops/custom.h"
#include "outside.h"

namespace scriptlang::python {

namespace {

// While it exists, values that this thread makes and drops do not belong to the current run: they
// are not counted against its limits, and its stop does not end them.
class Apart {
  memory::RunScope runs_{false};
  memory::LimitScope limit_{0};
  kernels::StopScope stops_{nullptr};
};

nb::list arguments_of(Args args) {
  ToPython to_python;
  nb::list given;
  for (int k = 0; k < args.size(); ++k) given.append(to_python(args[k]));
  return given;
}

// Converts the results of a function, a tuple that Python has checked. If one of them is an
// argument, it becomes the same value.
void take_results(nb::tuple results, nb::list given, const std::vector<Value>& held, Value* out,
                  const Schema& schema) {
  if (results.size() != schema.returns.size()) {
    raise(ErrorKind::RuntimeError, "the operator ", schema.name, " gave another number of results");
  }
  ToNative to_native;
  for (size_t k = 0; k < results.size(); ++k) {
    nb::object result = results[k];
    for (size_t j = 0; j < held.size(); ++j) {
      if (nb::handle(given[j]).is(result)) out[k] = held[j];
    }
    if (out[k].is_none()) out[k] = to_native(result);
    const Type& type = *schema.returns[k].type;
    if (!matches(out[k], type)) {
      raise(ErrorKind::RuntimeError, "the operator ", schema.name, " gave a ", type_text(out[k]),
            " where its schema says ", to_string(type));
    }
  }
}

// Calls a Python function as an operator. The function may call programs, so the run releases its
// turn meanwhile. Before that the arguments are converted, while nobody can change them. They are
// also copied to `held`, since the machine may have borrowed them from containers that others may
// change once the turn is released.
void run_python(void* user, Context& context, Args args, Value* out, const Schema& schema) {
  for (int k = 0; k < args.size(); ++k) args[k].publish();  // Python may keep them
  const std::vector<Value> held(args.data(), args.data() + args.size());
  Outside* outside = outside_of(context);
  PyObject* function = static_cast<PyObject*>(user);
  std::optional<Turn::Pause> pause;
  try {
    with_python([&] {
      Apart apart;
      try {
        nb::list given = arguments_of(args);
        if (outside) pause.emplace(outside->turn);
        nb::object results = nb::handle(function)(given);
        take_results(nb::cast<nb::tuple>(results), given, held, out, schema);
      } catch (nb::python_error& error) {
        raise_through(outside, error);
      } catch (const nb::builtin_exception& error) {
        raise(ErrorKind::RuntimeError, "the operator ", schema.name, ": ", error.what());
      }
    });
  } catch (...) {
    if (pause) pause->over();
    throw;
  }
  if (pause) pause->over(for_signals());
}

void register_operator(const std::string& schema, nb::object function) {
  register_custom(schema, run_python, function.ptr());
  (void)function.release();  // kept until the process ends
}

std::vector<std::string> custom_operators() {
  std::vector<std::string> texts;
  for (const OpEntry* entry : all_custom()) texts.emplace_back(custom_text(*entry));
  return texts;
}

// Runs an operator on Python values; `count` results.
std::vector<Value> results_of(const OpEntry& entry, const nb::list& arguments, size_t count) {
  ToNative to_native;
  std::vector<Value> values, results(count);
  for (nb::handle argument : arguments) values.push_back(to_native(argument));
  Context context;
  context.threads = kernels::thread_count();
  context.grad_enabled = grad_enabled;
  context.generator = &default_generator();
  {
    WithoutPython released;
    entry.run(context, Args(values.data(), int(values.size())), results.data());
  }
  return results;
}

nb::tuple call_operator(const std::string& name, nb::list arguments) {
  const OpEntry* entry = find_custom(name);
  if (!entry) raise(ErrorKind::ValueError, "nobody has registered ", name);
  const Schema& schema = custom_schema(*entry);
  if (arguments.size() != schema.arguments.size()) {
    raise(ErrorKind::TypeError, name, " takes ", schema.arguments.size(), " arguments, not ",
          arguments.size());
  }
  ToPython to_python;
  nb::list given;
  for (const Value& result : results_of(*entry, arguments, schema.returns.size())) {
    given.append(to_python(result));
  }
  return nb::tuple(given);
}

// Opens a plug-in. Returns (status, message); status 0 means success.
std::pair<int, std::string> load_library(const std::string& path) {
  sl_error* error = nullptr;
  sl_status status = sl_load_library(path.c_str(), &error);
  std::pair<int, std::string> answer(int(status), sl_error_message(error));
  sl_error_release(error);
  return answer;
}

}  // namespace

void bind_operators(nb::module_& m) {
  m.def("register_operator", &register_operator, nb::arg("schema"), nb::arg("function"),
        "Let programs that are made from now on call a function: it gets a list of all arguments "
        "and gives a tuple of the results.");
  m.def("custom_operators", &custom_operators,
        "The schemas of all operators that were registered, in order.");
  m.def("call_operator", &call_operator, nb::arg("name"), nb::arg("arguments"),
        "The results of an operator that was registered.");
  m.def("load_library", &load_library, nb::arg("path"),
        "Open a plug-in: (status of the C interface, message).");
}

}  // namespace scriptlang::python
