// The Python class Archive: an archive that the engine reads as C programs do, without the Python
// front end.
#include "native_archive.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "archive/save.h"
#include "convert.h"
#include "gil.h"
#include "grad_mode.h"
#include "kernels/parallel.h"
#include "lower/code.h"
#include "optimize/reached.h"

namespace scriptlang::python {

namespace {

class NativeArchive {
 public:
  explicit NativeArchive(const nb::bytes& contents)
      : module_(Module::load_memory(contents.c_str(), contents.size())) {}

  nb::object call(const std::string& name, nb::list arguments, int64_t instructions) {
    std::vector<Value> values;
    ToNative convert;
    convert.watch();
    for (nb::handle argument : arguments) values.push_back(convert(argument));
    Context context;
    context.threads = kernels::thread_count();
    context.grad_enabled = grad_enabled;
    Limits limits;
    limits.instructions = instructions;
    limits.depth = 1000;
    module_->domain()->retain();
    DomainRef domain(module_->domain());
    Turn turn;
    Value value;
    {
      WithoutPython released;
      value = module_->call(name, std::move(values), {}, context, limits, &turn);
    }
    nb::object result = ToPython(kMostValues, domain)(value);
    convert.tell_shapes();
    return result;
  }

  // An attribute by its dotted name. A tensor shares memory with the module.
  nb::object attribute(const std::string& name) {
    module_->domain()->retain();
    DomainRef domain(module_->domain());
    Turn turn;  // another thread may call a method, which releases the GIL
    look(&turn, domain, false);
    Value at = module_->root();
    for (size_t from = 0; from <= name.size();) {
      size_t dot = std::min(name.find('.', from), name.size());
      const Object& object = at.as_object();
      int64_t slot = object.type->slot(std::string_view(name).substr(from, dot - from));
      if (slot < 0) raise(ErrorKind::KeyError, name);
      Value next = object.slots.at(size_t(slot));
      at = std::move(next);
      from = dot + 1;
    }
    return ToPython(kMostValues, domain)(at);
  }

  nb::bytes save() {
    std::string bytes;
    {
      WithoutPython released;
      scriptlang::save(module_.get(), module_->root(), {}, [&](const void* data, size_t size) {
        bytes.append(static_cast<const char*>(data), size);
      });
    }
    return nb::bytes(bytes.data(), bytes.size());
  }

  // The operators that these methods reach; those of all functions if `methods` is empty.
  // `__setstate__` methods are always included, since loading runs them.
  std::vector<std::string> operators(const std::vector<std::string>& methods) {
    WithoutPython released;
    module_->complete();
    const std::string kRestores = ".__setstate__";
    std::vector<const Function*> from;
    for (const std::string& name : methods) {
      const Function* method = module_->method(name);
      if (!method) raise(ErrorKind::KeyError, "the archive has no method '", name, "'");
      from.push_back(method);
    }
    for (const auto& f : module_->program().functions()) {
      const bool restores = f->name.size() > kRestores.size() &&
                            f->name.substr(f->name.size() - kRestores.size()) == kRestores;
      if (methods.empty() || restores) from.push_back(f.get());
    }
    return optimize::reached_operators(module_->program(), from);
  }

  std::vector<std::string> methods() const { return module_->method_names(); }
  std::string register_code() const {  // of every function
    std::string text;
    for (const auto& f : module_->program().functions()) text += lower::print_code(*f) + "\n";
    return text;
  }
  std::vector<std::string> missing() const {
    std::vector<std::string> names;
    for (const MissingOperator& m : module_->missing_operators()) names.push_back(m.name);
    return names;
  }

 private:
  std::shared_ptr<Module> module_;
};

}  // namespace

void bind_archive(nb::module_& m) {
  nb::class_<NativeArchive>(m, "Archive", "The bytes of an archive, read as C programs read it.")
      .def(nb::init<const nb::bytes&>(), nb::arg("contents"))
      .def("call", &NativeArchive::call, nb::arg("method"), nb::arg("arguments"),
           nb::arg("instructions") = 0,
           "Call a method of the root. Values are as Program.run has them.")
      .def("attribute", &NativeArchive::attribute, nb::arg("name"))
      .def("save", &NativeArchive::save, "The archive with the attributes as they are now.")
      .def("operators", &NativeArchive::operators, nb::arg("methods"),
           "Qualified names of the operators that these methods reach, or all functions.")
      .def_prop_ro("methods", &NativeArchive::methods)
      .def_prop_ro("register_code", &NativeArchive::register_code,
                   "The register code of all functions.")
      .def_prop_ro("missing", &NativeArchive::missing);
}

}  // namespace scriptlang::python
