// The C API: custom operators, which are functions of the host that programs call.
#include <memory>

#include "capi.h"
#include "ops/custom.h"
#include "values/callbacks.h"

using namespace scriptlang;
using namespace scriptlang::capi;

namespace {

struct Host {
  sl_operator function;
  void* user;
};

// The handles of one call, released at its end.
class Handles {
 public:
  explicit Handles(size_t count) : all_(count) {}
  ~Handles() {
    for (sl_value* handle : all_) sl_value_release(handle);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  sl_value** data() { return all_.data(); }
  size_t size() const { return all_.size(); }
  sl_value*& operator[](size_t k) { return all_[k]; }

 private:
  std::vector<sl_value*> all_;
};

// Raises the exception for a host's operator that failed, by its error or, without one, its status.
[[noreturn]] void raise_for(sl_status status, sl_error* error, const Schema& schema) {
  std::unique_ptr<sl_error, void (*)(sl_error*)> held(error, sl_error_release);
  if (status == SL_OUT_OF_MEMORY) {
    raise(ErrorKind::MemoryError,
          error ? error->message : "the operator " + schema.name + " has no memory");
  }
  Error made(ErrorKind::RuntimeError,
             error ? error->message : concat("the operator ", schema.name, " failed"));
  if (error) made.class_name = error->class_name;
  throw made;
}

// Calls the host's function, and checks that its results are of the types in the schema.
void run_host(void* user, Context&, Args args, Value* out, const Schema& schema) {
  const Host& host = *static_cast<Host*>(user);
  Handles given(size_t(args.size())), results(schema.returns.size());
  for (size_t k = 0; k < given.size(); ++k) {
    args[int(k)].publish();  // the host may keep it
    given[k] = made([&] { return args[int(k)]; });
    if (!given[k]) throw std::bad_alloc();
  }
  sl_error* error = nullptr;
  sl_status status;
  {
    memory::CallbackScope inside;
    status = host.function(host.user, given.data(), given.size(), results.data(), results.size(),
                           &error);
  }
  if (status != SL_OK) raise_for(status, error, schema);
  sl_error_release(error);
  for (size_t k = 0; k < results.size(); ++k) {
    Value value = results[k] ? results[k]->value : Value();
    const Type& type = *schema.returns[k].type;
    if (type.kind == TypeKind::Float && value.is_int()) value = Value(double(value.as_int()));
    if (!matches(value, type)) {
      raise(ErrorKind::RuntimeError, "the operator ", schema.name, " gave a ", type_text(value),
            " where its schema says ", to_string(type));
    }
    out[k] = std::move(value);
  }
}

}  // namespace

sl_status sl_register_operator(const char* schema, sl_operator function, void* user,
                               sl_error** error) {
  if (!schema || !function) {
    return misuse(error, "sl_register_operator needs a schema and a function");
  }
  sl_status status = guarded(error, [&] {
    auto host = std::make_unique<Host>(Host{function, user});
    register_custom(schema, run_host, host.get());
    (void)host.release();  // operators are registered for good
  });
  if (status != SL_RUN_ERROR) return status;
  if (error && *error) (*error)->status = SL_INVALID_ARGUMENT;
  return SL_INVALID_ARGUMENT;
}
