// An archive that the engine reads by itself, as C programs do: without the Python front end.
#include "native_archive.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "archive/module.h"
#include "convert.h"
#include "kernels/parallel.h"
#include "lower/code.h"

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
    Limits limits;
    limits.instructions = instructions;
    limits.depth = 1000;
    module_->domain()->retain();
    DomainRef domain(module_->domain());
    Turn turn;
    Value value;
    {
      nb::gil_scoped_release released;
      value = module_->call(name, std::move(values), {}, context, limits, &turn);
    }
    nb::object result = ToPython(kMostValues, domain)(value);
    convert.tell_shapes();
    return result;
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
      .def_prop_ro("methods", &NativeArchive::methods)
      .def_prop_ro("register_code", &NativeArchive::register_code,
                   "The register code of all functions.")
      .def_prop_ro("missing", &NativeArchive::missing);
}

}  // namespace scriptlang::python
