// The extension module scriptlang.interpreter._native, which makes the engine usable from Python.
//
//   program = Program(functions, types)      functions: tuple trees as in bytecode.pkl, without
//                                            the version; types: {qualified name: ClassType,
//                                            EnumType or named TupleType}
//   program.run(name, args, ...)             releases the GIL while the program runs
//
// Errors of the engine are NativeError(kind, class_name, message, stack). kind is as in error.h,
// class_name is the class that the program raised (or ""), and stack is a list of (function, pc),
// innermost first.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "../kernels/parallel.h"
#include "../kernels/processor.h"
#include "caller.h"
#include "code_archive.h"
#include "convert.h"
#include "eager.h"
#include "errors.h"
#include "gil.h"
#include "grad_mode.h"
#include "memory.h"
#include "mirrors.h"
#include "names.h"
#include "native_archive.h"
#include "numpy_memory.h"
#include "operators.h"
#include "ops/observe.h"
#include "python_program.h"
#include "record.h"
#include "tape.h"

#ifndef SCRIPTLANG_VERSION
#error "SCRIPTLANG_VERSION is defined by CMakeLists.txt"
#endif

namespace scriptlang::python {

namespace {

Limits limits_of(int64_t instructions, int64_t memory, int64_t milliseconds, int64_t depth) {
  Limits limits;
  limits.instructions = instructions;
  limits.memory_bytes = memory;
  limits.milliseconds = milliseconds;
  limits.depth = depth;
  return limits;
}

// Calls a program by its fast path. Returns NotImplemented if an argument does not already have the
// declared type.
nb::object call(const PythonProgram& program, nb::tuple arguments, nb::dict by_name,
                const Limits& limits, int64_t most_values) {
  Given given{nullptr, arguments.ptr(), arguments.size(), by_name.ptr(), true};
  PythonProgram::Result result;
  if (!program.call(given, limits, &result)) return nb::borrow(Py_NotImplemented);
  return result.convert(most_values);
}

template <class Key>
nb::object get(const NativeObject& o, const Key& key) {
  wait_until_whole(o);
  Ref<Object> kept = o.object;
  DomainRef domain = o.domain;
  Turn turn;
  look(&turn, domain, false);
  ToPython convert(kMostValues, domain);
  return o.read(slot_of(o, key), convert);
}

// The slots of several objects, read at one moment. A value that is in two slots becomes one Python
// object.
nb::list slots_together(const NativeObject& first, nb::list objects) {
  std::vector<nb::object> kept;
  for (nb::handle object : objects) {
    const NativeObject& o = nb::cast<const NativeObject&>(object);
    wait_until_whole(o);
    join_domains(first.domain, o.domain);
    kept.push_back(nb::borrow(object));
  }
  DomainRef domain = first.domain;
  Turn turn;
  look(&turn, domain, false);
  ToPython convert(0, domain);
  nb::list found;
  for (const nb::object& object : kept) {
    const NativeObject& o = nb::cast<const NativeObject&>(object);
    nb::list slots;
    for (const Value& slot : o.object->slots) slots.append(o.read(slot, convert));
    found.append(slots);
  }
  return found;
}

template <class Key>
void set(const NativeObject& o, const Key& key, nb::handle value) {
  wait_until_whole(o);
  ToNative convert;
  set_slot(o, key, value, convert);
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (int k = 0; k < op_count(); ++k) names.emplace_back(op_at(k).qualified_name());
  names.emplace_back("prim::TupleUnpack");  // not in the table, since it is an instruction
  return names;
}

std::vector<std::string> cpu_features() {
  std::vector<std::string> names;
#if defined(__x86_64__)
#define SL_FEATURE(name) \
  if (kernels::processor_has(name)) names.emplace_back(name);
  SL_FEATURE("avx")
  SL_FEATURE("fma")
  SL_FEATURE("avx2")
  SL_FEATURE("avx512f")
  SL_FEATURE("avx512bw")
  SL_FEATURE("avx512dq")
  SL_FEATURE("avx512vl")
  SL_FEATURE("avx512vnni")
#undef SL_FEATURE
#elif defined(__aarch64__)
  names.emplace_back("neon");
  if (kernels::processor_has("dotprod")) names.emplace_back("dotprod");
#endif
  return names;
}

nb::dict info() {
  nb::dict facts;
  facts["version"] = SCRIPTLANG_VERSION;
  facts["compiler"] = concat("g++ or clang ", __VERSION__);
  facts["cpu"] = cpu_features();
  facts["threads"] = kernels::thread_count();
  facts["operators"] = op_count();
  return facts;
}

std::string describe() {
  std::string features;
  for (const std::string& f : cpu_features()) features += (features.empty() ? "" : " ") + f;
  return concat("version ", SCRIPTLANG_VERSION, ", ", op_count(), " operators, ",
                kernels::thread_count(), " threads, ", features);
}

// The engines exchange the state of the default generator in the form of numpy's Mersenne twister:
// a block of 624 words, and how many of them are used up. ToldState is the state that Python last
// got or set.
constexpr int TWISTER_WORDS = kernels::Twister::kWords;

struct ToldState {
  kernels::Twister engine = default_generator().engine;
  bool has_spare = false;
};

ToldState& told_state() {
  static ToldState state;
  return state;
}

// Locks a generator without holding the GIL meanwhile: a program that draws numbers holds the lock
// and may wait for the GIL, so waiting with the GIL would deadlock.
class GeneratorLock {
 public:
  explicit GeneratorLock(Generator& generator) : lock_(generator.mutex, std::defer_lock) {
    WithoutPython released;
    lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

nb::object generator_state() {
  Generator& generator = default_generator();
  GeneratorLock lock(generator);
  ToldState& told = told_state();
  if (generator.engine == told.engine && generator.has_next_double == told.has_spare) {
    return nb::none();
  }
  told = {generator.engine, generator.has_next_double};
  nb::object spare = generator.has_next_double ? nb::cast(generator.next_double) : nb::none();
  const uint32_t* words = generator.engine.words();
  return nb::make_tuple(generator.seed, nb::bytes(words, TWISTER_WORDS * sizeof(uint32_t)),
                        generator.engine.position(), spare);
}

void seed_generator(uint64_t seed) {
  Generator& generator = default_generator();
  GeneratorLock lock(generator);
  generator.manual_seed(seed);
  told_state() = {generator.engine, generator.has_next_double};
}

void set_generator_state(uint64_t seed, const nb::bytes& words, int position, nb::object spare) {
  if (words.size() != TWISTER_WORDS * sizeof(uint32_t) || position < 0 ||
      position > TWISTER_WORDS) {
    throw nb::value_error("no state of a Mersenne twister");
  }
  uint32_t state[TWISTER_WORDS];
  std::memcpy(state, words.c_str(), sizeof state);
  Generator& generator = default_generator();
  GeneratorLock lock(generator);
  generator.engine.set(state, position);
  generator.seed = seed;
  generator.has_next_float = false;
  generator.has_next_double = !spare.is_none();
  generator.next_double = spare.is_none() ? 0 : nb::cast<double>(spare);
  told_state() = {generator.engine, generator.has_next_double};
}

}  // namespace

NB_MODULE(_native, m) {
  nb::set_leak_warnings(false);  // objects in caches at the end of the process are no leaks
  m.attr("NativeError") = make_native_error();
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) { set_python_error(e); }
  });

  bind_numpy_memory(m);
  bind_archive(m);
  bind_code_archive(m);
  bind_operators(m);
  m.def("info", &info, "Facts about the engine: version, compiler, cpu, threads, operators.");
  m.def("describe", &describe, "The same in one line.");
  m.def("operators", &operator_names, "Qualified names of all operators: 'aten::add.Tensor'.");
  m.def("set_num_threads", &kernels::set_thread_count, nb::arg("n"));
  m.def("get_num_threads", &kernels::thread_count);
  m.def(
      "set_grad_enabled", [](bool on) { grad_enabled = on; }, nb::arg("on"),
      "Set whether programs that this thread calls find derivatives to be recorded.");
  m.def("generator_state", &generator_state,
        "(seed, 624 words, position, spare normal value or None) of the generator of random "
        "operators; None where it is as it was last told or asked.");
  m.def("seed_generator", &seed_generator, nb::arg("seed"),
        "Start the generator of random operators from a seed.");
  m.def("set_generator_state", &set_generator_state, nb::arg("seed"), nb::arg("words"),
        nb::arg("position"), nb::arg("spare").none());

  m.def("start_observing", &observe::start, "Let scriptlang::observe make notes from now on.");
  m.def(
      "end_observing",
      [] {
        const std::vector<int64_t> notes = observe::take();
        return nb::bytes(notes.data(), notes.size() * sizeof(int64_t));
      },
      "The notes, as int64 numbers in the order of ops/observe.h; no more are made.");

  m.def("follow", &follow, nb::arg("tensor"),
        "Tell objects of the engine that a Tensor in them has got other memory or another shape.");

  nb::class_<NativeObject>(m, "Object", "Slots of an instance, in the engine; reads as a list.")
      .def(
          "__init__",
          [](NativeObject* self, nb::handle type, nb::list values) {
            Ref<Object> made = Object::make(class_of(type));
            made->slots.resize(values.size());
            ToNative convert;
            for (size_t k = 0; k < values.size(); ++k) made->slots[k] = convert(values[k]);
            DomainRef domain = convert.domain() ? convert.domain() : DomainRef(Domain::make());
            new (self) NativeObject{std::move(made), std::move(domain)};
          },
          nb::arg("type"), nb::arg("values"))
      .def_prop_ro("class_name", [](const NativeObject& o) { return o.object->type->name; })
      .def_prop_ro("names", [](const NativeObject& o) { return o.object->type->attributes; })
      .def("get", [](const NativeObject& o, const std::string& name) { return get(o, name); })
      .def(
          "set",
          [](const NativeObject& o, const std::string& name, nb::handle value) {
            set(o, name, value);
          },
          nb::arg("name"), nb::arg("value").none())
      .def("together", &slots_together, nb::arg("objects"),
           "The slots of several objects, this one among them, as they are at one moment: what two "
           "slots hold is one object.")
      .def("__len__",
           [](const NativeObject& o) {
             wait_until_whole(o);
             DomainRef domain = o.domain;
             Turn turn;
             look(&turn, domain, false);
             return o.object->slots.size();
           })
      .def("__getitem__", [](const NativeObject& o, int64_t k) { return get(o, k); })
      .def(
          "__setitem__",
          [](const NativeObject& o, int64_t k, nb::handle value) { set(o, k, value); },
          nb::arg("index"), nb::arg("value").none())
      .def("__eq__",
           [](const NativeObject& o, nb::handle other) {
             return nb::isinstance<NativeObject>(other) &&
                    nb::cast<NativeObject&>(other).object.get() == o.object.get();
           })
      .def("__hash__", [](const NativeObject& o) {
        return Py_hash_t(reinterpret_cast<uintptr_t>(o.object.get()) >> 4);
      });

  nb::class_<Mirrors>(m, "Mirrors", "Lists and dicts of the engine that a run of Python uses.")
      .def(nb::init<>())
      .def("get", &Mirrors::get, nb::arg("object"), nb::arg("slot"),
           "The value of a slot. A list or dict is the same one each time.")
      .def("set", &Mirrors::set, nb::arg("object"), nb::arg("slot"), nb::arg("value").none())
      .def("store", &Mirrors::store, "Copy what the run has changed to the engine.")
      .def("expire", &Mirrors::expire,
           "Say that others may have changed what the engine holds; to be called after `store`.");

  m.attr("Memory") = make_memory_type();
  m.attr("Caller") = make_caller_type();
  m.def("watch_calls", &watch_calls, nb::arg("function_class"), nb::arg("calls"),
        nb::arg("generator"),
        "Tell Callers what to look at in a call: the `direct` of functions, `tracer` and `last` of "
        "calls, `is_ahead` of the generator.");

  m.attr("Kernel") = make_kernel_type();
  m.attr("EagerCalls") = make_eager_calls_type();
  m.def("watch_eager_calls", &watch_eager_calls, nb::arg("calls"), nb::arg("generator"),
        nb::arg("marks"),
        "Tell Kernels and EagerCalls what to look at: `tracer` and `recorder` of calls, `is_ahead` "
        "of the generator, and the list of the function that marks tensors.");
  m.def("eager_refusals", &eager_refusals,
        "How many calls of Kernels the engine has refused, so that numpy's kernels ran.");
  m.def(
      "set_eager_mode",
      [](bool is_off, bool marks, bool is_bare, bool is_followed) {
        eager_mode = {is_off, marks, is_bare, is_followed};
      },
      nb::arg("is_off"), nb::arg("marks"), nb::arg("is_bare"), nb::arg("is_followed"),
      "Set what calls of operators by this thread are for: Python alone; to be marked as those of "
      "inference mode; for a rule of a derivative; to be followed by users.");
  m.def("watch_tape", &watch_tape, nb::arg("known"),
        "Tell the tape the classes and functions of the package by their names; see tape.h.");
  m.def("edges_of", &edges_of, nb::arg("tensors"),
        "The edges that gradients of tensors flow along; None for one that requires none.");
  m.def("go_back", &go_back, nb::arg("walk"), nb::arg("roots"), nb::arg("grads"),
        nb::arg("inputs").none(),
        "Make a backward pass; False, before anything is done, if it takes more.");
  nb::class_<Recipe>(m, "Recipe", "How calls of an operator are recorded, and go back.")
      .def(nb::init<nb::object, nb::object, std::vector<int>, std::vector<int>, int, int, bool,
                    nb::list>(),
           nb::arg("plan"), nb::arg("node_class"), nb::arg("inputs"), nb::arg("counted"),
           nb::arg("results"), nb::arg("view"), nb::arg("is_none"), nb::arg("readings"))
      .def("apply", &Recipe::apply, nb::arg("node"), nb::arg("grads"), nb::arg("wanted"),
           "The gradients of the inputs of a node; nothing of it is recorded.");

  nb::class_<Record>(m, "Record", "A recorded call of a program.")
      .def("backward", &Record::backward, nb::arg("gradients"), nb::arg("wanted"),
           nb::arg("creates"),
           "The gradients of the inputs, of those of the outputs: (gradients, Record of their own "
           "derivatives or None, which of the given gradients are its inputs before this one's, "
           "which of the results are its outputs).")
      .def("note_writes", &Record::note_writes, nb::arg("numbers"),
           "Note writes to the memory of Tensors of the call, given by their numbers.");
  nb::class_<PythonProgram>(m, "Program", nb::type_slots(PythonProgram::slots),
                            "Functions in bytecode, verified.")
      .def(nb::init<nb::tuple, nb::dict>(), nb::arg("functions"), nb::arg("types"))
      .def(
          "run",
          [](PythonProgram& p, const std::string& name, nb::list arguments, int64_t instructions,
             int64_t memory, int64_t milliseconds, int64_t depth, int64_t values) {
            return p.run(name, arguments, limits_of(instructions, memory, milliseconds, depth),
                         values);
          },
          nb::arg("name"), nb::arg("arguments"), nb::arg("instructions") = 0, nb::arg("memory") = 0,
          nb::arg("milliseconds") = 0, nb::arg("depth") = kDepth, nb::arg("values") = kMostValues)
      .def("enter", &PythonProgram::enter, nb::arg("name"), nb::arg("arguments"),
           nb::arg("positional"),
           "Make `call` run a function whose arguments have these names, kinds and defaults; "
           "entry.h says what they are.")
      .def_rw("failure", &PythonProgram::failure,
              "What makes an exception of a NativeError that a Caller has met.")
      .def(
          "call",
          [](PythonProgram& p, nb::tuple arguments, nb::dict by_name, int64_t instructions,
             int64_t memory, int64_t milliseconds, int64_t depth, int64_t values) {
            return call(p, arguments, by_name, limits_of(instructions, memory, milliseconds, depth),
                        values);
          },
          nb::arg("arguments"), nb::arg("by_name"), nb::arg("instructions") = 0,
          nb::arg("memory") = 0, nb::arg("milliseconds") = 0, nb::arg("depth") = kDepth,
          nb::arg("values") = kMostValues,
          "Run the function; NotImplemented where the arguments want Python's conversions.")
      .def_prop_ro("missing", &PythonProgram::missing,
                   "Operators that the engine lacks: {qualified name: instructions that call it}.")
      .def(
          "record",
          [](PythonProgram& p, const std::string& name, nb::list arguments, nb::list wanted,
             nb::list leaves, int64_t instructions, int64_t memory, int64_t milliseconds,
             int64_t depth, int64_t values) {
            return p.record(name, arguments, wanted, leaves,
                            limits_of(instructions, memory, milliseconds, depth), values);
          },
          nb::arg("name"), nb::arg("arguments"), nb::arg("wanted"), nb::arg("leaves"),
          nb::arg("instructions") = 0, nb::arg("memory") = 0, nb::arg("milliseconds") = 0,
          nb::arg("depth") = kDepth, nb::arg("values") = kMostValues,
          "Run a function and record derivatives with respect to the Tensors `wanted`: (result, "
          "(Record or None, Tensors of its inputs, those of its outputs, inputs that were written, "
          "arguments that the program made require a gradient, Tensors that Python has of the "
          "call)).")
      .def("keeps_values",
           nb::overload_cast<const std::string&>(&PythonProgram::keeps_values, nb::const_),
           nb::arg("name"),
           "Whether a function may store values in an object or container that others can reach.")
      .def("calls_any", &PythonProgram::calls_any, nb::arg("operators"),
           "Whether a function calls one of the operators, which are given by qualified names.")
      .def_prop_ro("asks_for_gradients", &PythonProgram::asks_for_gradients,
                   "Whether a function asks for gradients itself.")
      .def_prop_ro("functions", &PythonProgram::functions)
      .def_prop_ro("register_code", &PythonProgram::register_code,
                   "What the functions run as, one step a line.");

  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    clear_calls();
    clear_eager_calls();
    clear_tape();
    forget_names();
  }));
}

}  // namespace scriptlang::python
