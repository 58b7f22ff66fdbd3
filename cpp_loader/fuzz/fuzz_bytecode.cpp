// Input: the pickle of a bytecode.pkl without tensors. What verifies is run, within limits, on
// arguments of the declared types.
#include "pickle.h"
#include "vm.h"

using namespace scriptlang;

static Value argument_of(const Type& type) {
  switch (type.kind) {
    case TypeKind::Int: return Value(3);
    case TypeKind::Float: return Value(0.5);
    case TypeKind::Bool: return Value(true);
    case TypeKind::String: return Value("text");
    case TypeKind::Tensor: return Tensor::zeros({2, 3}, ScalarType::Float32);
    case TypeKind::List: return List::make({argument_of(*type.elements[0])});
    default: return Value();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    auto classes = std::make_shared<ClassTable>();
    PickleHooks hooks;
    hooks.classes = classes->resolver();
    Value tree = read_pickle({reinterpret_cast<const char*>(data), size}, "input", hooks);
    auto program = Program::decode(tree, classes);
    Limits limits;
    limits.instructions = 10000;
    limits.memory_bytes = 1 << 26;
    limits.milliseconds = 200;
    for (const auto& function : program->functions()) {
      std::vector<Value> arguments;
      for (const Argument& a : function->arguments) arguments.push_back(argument_of(*a.type));
      arguments.resize(size_t(function->parameters));
      Context context;
      context.print = context.warn = [](const char*, size_t, void*) {};
      try {
        run(*program, *function, std::move(arguments), context, limits);
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
