// The Python class CodeArchive: an archive whose code the engine compiles itself, and whose objects
// Python shares.
//
//   archive = CodeArchive(contents, check)   contents: a buffer, which is copied if it is read-only
//   archive.classes                          the classes that its code declares
//   archive.bind({name: type})               sets the Python types of classes, enums, named tuples
//   archive.root                             a ScriptObject
//   archive.program(name)                    a Program that runs a function; None if Python has to
//                                            compile it
#include "code_archive.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "archive/module.h"
#include "convert.h"
#include "gil.h"
#include "python_program.h"
#include "source/compiler.h"

namespace scriptlang::python {

namespace {

// The declaration of a class.
struct ClassFacts {
  ClassRef cls;
  bool is_module, is_hooked;
  std::vector<std::string> submodules, methods;
};

class BufferLoan {
 public:
  explicit BufferLoan(nb::handle contents) {
    if (PyObject_GetBuffer(contents.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  BufferLoan(const BufferLoan&) = delete;
  ~BufferLoan() { PyBuffer_Release(&view); }
  Py_buffer view;
};

void end_loan(void* user) {
  if (!Py_IsInitialized()) return;  // the process ends, and with it all memory
  with_python([user] { delete static_cast<BufferLoan*>(user); });
}

std::shared_ptr<Bytes> bytes_of(nb::handle contents) {
  auto loan = std::make_unique<BufferLoan>(contents);
  const Py_buffer& view = loan->view;
  if (view.len == 0) raise(ErrorKind::ArchiveError, "the archive is empty");
  if (view.readonly) return Bytes::copy(view.buf, size_t(view.len));
  auto lent = Bytes::lend(view.buf, size_t(view.len), end_loan, loan.get());
  loan.release();
  return lent;
}

// Whether an operator may change the shape of its argument, which would have to be copied back to
// the Python Tensor.
bool reshapes(const OperatorUse& use) {
  static constexpr std::string_view kNames[] = {
#define SL_RESHAPES(name) name,
#include "source/rules.def"
  };
  if (use.name.empty() || use.name.back() != '_') return false;  // all of them end with it
  const std::string name = use.qualified_name();
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// The kind of a type for `Entry`; see entry.h.
nb::object kind_of(const Type& type) {
  auto of_parts = [&type](const char* letter) {
    nb::list kind;
    kind.append(letter);
    for (const TypeRef& part : type.elements) kind.append(kind_of(*part));
    return nb::object(nb::tuple(kind));
  };
  switch (type.kind) {
    case TypeKind::Tensor: return nb::str("T");
    case TypeKind::Int: return nb::str("i");
    case TypeKind::Float: return nb::str("f");
    case TypeKind::Bool: return nb::str("b");
    case TypeKind::String: return nb::str("s");
    case TypeKind::Number: return nb::str("n");
    case TypeKind::Complex: return nb::str("c");
    case TypeKind::Optional: return of_parts("?");
    case TypeKind::List: return of_parts("L");
    case TypeKind::Dict: return of_parts("D");
    case TypeKind::Tuple: return of_parts("U");
    case TypeKind::Class:
      if (type.cls && type.cls->host && type.cls->members.empty()) {
        return nb::make_tuple("o", type_of(*type.cls));
      }
      [[fallthrough]];
    default: return nb::str("-");
  }
}

// (name, kind, default) of an argument, as Program.enter takes them.
nb::tuple entry_of(const Argument& a) {
  nb::object name = nb::steal(PyUnicode_InternFromString(a.name.c_str()));
  const Value& value = a.default_value;
  const bool is_plain = a.has_default && !value.is_list() && !value.is_tuple() &&
                        !value.is_dict() && !value.is_object() && !value.is_tensor() &&
                        value.tag() != Tag::Enum && value.tag() != Tag::Device;
  nb::object fallback = is_plain ? ToPython()(value) : nb::borrow(Py_Ellipsis);
  return nb::make_tuple(name, kind_of(*a.type), fallback);
}

// The number of instructions of a function if all calls were inlined. It grows like 2^n if each of
// n functions calls the next one twice. A recursive call counts as one instruction. Each function
// is counted once, without recursion here, since chains of calls may be long.
int64_t size_with_calls(const Function& function) {
  constexpr int64_t kMost = int64_t{1} << 40;
  std::unordered_map<const Function*, int64_t> sizes;  // 0 while a function is being counted
  std::vector<const Function*> pending{&function};
  while (!pending.empty()) {
    const Function& f = *pending.back();
    const bool is_new = sizes.emplace(&f, 0).second;
    bool waits = false;
    for (const Function* callee : f.callees) {
      if (is_new && callee && !sizes.count(callee)) pending.push_back(callee), waits = true;
    }
    if (waits) continue;
    pending.pop_back();
    if (sizes[&f] != 0) continue;
    int64_t size = int64_t(f.code.size()) + 1;
    for (const Instruction& i : f.code) {
      if (i.op != Opcode::CALL && i.op != Opcode::TAIL_CALL) continue;
      const Function* callee = f.callees[size_t(i.x)];
      size = std::min(kMost, size + (callee ? sizes[callee] : 0));
    }
    sizes[&f] = size;
  }
  return sizes[&function];
}

class CodeArchive {
 public:
  CodeArchive(nb::object contents, bool check) {
    Reading how;
    how.from_code = true;
    how.check_storages = check;
    how.compiled = [this](const source::Compiler& compiler) { keep(compiler.declared()); };
    module_ = Module::load(bytes_of(contents), how);
    module_->domain()->retain();
    domain_ = DomainRef(module_->domain());
    has_open_constants_ = PythonProgram::has_open_constants(module_->program());
    for (const auto& f : module_->program().functions()) {
      std::string_view name = f->name;
      name.remove_prefix(name.rfind('.') + 1);
      if (name == "__enter__" || name == "__exit__") of_with_.push_back(f.get());
    }
  }

  nb::list classes() const {
    nb::list found;
    for (const ClassFacts& c : classes_) {
      found.append(nb::make_tuple(c.cls->name, c.is_module, c.is_hooked, c.cls->attributes,
                                  c.submodules, c.methods));
    }
    return found;
  }

  std::vector<std::string> named() const {
    std::vector<std::string> names;
    for (const ClassRef& cls : enums_) names.push_back(cls->name);
    for (const TypeRef& type : tuples_) names.push_back(type->name);
    return names;
  }

  void bind(nb::dict types) {
    types_ = types;
    for (const ClassFacts& c : classes_) set_class_of(types[c.cls->name.c_str()], c.cls);
    for (const ClassRef& cls : enums_) set_class_of(types[cls->name.c_str()], cls);
    for (const TypeRef& type : tuples_) type->host = host_of(types[type->name.c_str()]);
  }

  // The types refer to the archive through their methods, so the garbage collector must see this
  // reference cycle.
  static int traverse(PyObject* self, visitproc visit, void* arg) {
#if PY_VERSION_HEX >= 0x03090000
    Py_VISIT(Py_TYPE(self));
#endif
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<CodeArchive>(self)->types_.ptr());
    return 0;
  }
  static int clear(PyObject* self) {
    nb::inst_ptr<CodeArchive>(self)->types_.reset();
    return 0;
  }

  bool is_pending() const { return module_->is_pending(); }

  nb::object root() { return ToPython(kMostValues, domain_)(module_->root()); }

  // Why `program` returns None; empty if it returns a Program.
  std::string objection(const std::string& name) const {
    const Function* function = module_->program().find(name);
    return function ? objection(*function) : "nothing was compiled under this name";
  }

  nb::object program(const std::string& name) {
    const Function* function = module_->program().find(name);
    if (!function || !objection(*function).empty()) return nb::none();
    nb::list arguments;
    size_t positional = 0;
    for (const Argument& a : function->arguments) {
      arguments.append(entry_of(a));
      positional += !a.keyword_only;
    }
    nb::object made = nb::cast(new PythonProgram(module_->program().shared_from_this(), domain_,
                                                 has_open_constants_, types_),
                               nb::rv_policy::take_ownership);
    nb::inst_ptr<PythonProgram>(made)->enter(name, arguments, positional);
    return made;
  }

 private:
  void keep(const source::Declarations& declared) {
    using source::Declared;
    declared.each_class([&](const Declared& d) {
      if (!d.refusal.empty()) return;
      if (d.kind == Declared::Enum) enums_.push_back(d.cls);
      if (d.kind != Declared::Module && d.kind != Declared::Class) return;
      ClassFacts facts{d.cls, d.kind == Declared::Module, d.is_hooked, {}, {}};
      for (const auto& [name, type] : d.attributes) {
        const Declared* part = declared.types().declared(type);
        if (part && part->is_module()) facts.submodules.push_back(name);
      }
      for (const source::Routine* m : d.method_order) facts.methods.emplace_back(m->short_name());
      classes_.push_back(std::move(facts));
    });
    declared.each_named_tuple(
        [&](const std::string&, source::T type) { tuples_.push_back(source::Types::held(type)); });
  }

  // Why a function cannot run as the engine has compiled it; empty if it can. Its size must be
  // limited. Everything that it may reach must be compiled, come from the file, call no methods of
  // objects that may come from other archives, and not change the shape of tensors passed to it.
  std::string objection(const Function& function) const {
    if (size_with_calls(function) > kMostWithCalls) return function.name + " calls too much";
    std::unordered_set<const Function*> seen;
    std::vector<const Function*> pending;
    auto reach = [&](const Function* f) {
      if (seen.insert(f).second) pending.push_back(f);
    };
    reach(&function);
    while (!pending.empty()) {
      const Function& next = *pending.back();
      pending.pop_back();
      if (!next.refusal.empty()) return next.refusal;
      if (!next.line_starts || next.file == "operators") return next.name + " is a body";
      for (const OperatorUse& use : next.operators) {
        if (!use.entry && use.name != "prim::TupleUnpack") {
          return use.qualified_name() + " is missing";
        }
        if (use.trailing_out || reshapes(use)) return use.qualified_name() + " may reshape";
      }
      for (const Instruction& i : next.code) {
        if (i.op == Opcode::INTERFACE_CALL) return next.name + " calls by an interface";
        if (i.op != Opcode::ENTER && i.op != Opcode::EXIT) continue;
        for (const Function* method : of_with_) reach(method);
      }
      for (const Function* callee : next.callees) reach(callee);
    }
    return "";
  }

  // Larger functions are compiled in Python, which inlines calls within the limit `graph_nodes`.
  static constexpr int64_t kMostWithCalls = 1'000'000;

  std::vector<ClassFacts> classes_;
  std::vector<const Function*> of_with_;  // __enter__ and __exit__, which `with` calls by name
  std::vector<ClassRef> enums_;
  std::vector<TypeRef> tuples_;
  std::shared_ptr<Module> module_;
  DomainRef domain_;
  bool has_open_constants_ = false;
  nb::dict types_;
};

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&CodeArchive::traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(&CodeArchive::clear)},
    {0, nullptr},
};

}  // namespace

void bind_code_archive(nb::module_& m) {
  nb::class_<CodeArchive>(m, "CodeArchive", nb::type_slots(slots),
                          "An archive whose code the engine compiles.")
      .def(nb::init<nb::object, bool>(), nb::arg("contents"), nb::arg("check"),
           "check: the checksums of tensors are verified, too.")
      .def_prop_ro("classes", &CodeArchive::classes,
                   "(name, is_module, is_hooked, attributes, submodules, methods) of each class.")
      .def_prop_ro("named", &CodeArchive::named, "The names of enums and named tuples.")
      .def_prop_ro("is_pending", &CodeArchive::is_pending, "Whether a __setstate__ has to run.")
      .def("bind", &CodeArchive::bind, nb::arg("types"), "Tell the Python types by their names.")
      .def_prop_ro("root", &CodeArchive::root)
      .def(
          "objection",
          [](const CodeArchive& a, const std::string& name) { return a.objection(name); },
          nb::arg("name"), "Why `program` gives none for a function; empty where it gives one.")
      .def("program", &CodeArchive::program, nb::arg("name"),
           "A Program for a function; None where another compiler has to make it.");
}

}  // namespace scriptlang::python
