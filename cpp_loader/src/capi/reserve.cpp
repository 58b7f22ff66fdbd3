// The C API: reservations, with which calls allocate no memory. A reservation makes some calls to
// find out how much memory they take, then all calls use one block. See values/arena.h.
#include <algorithm>
#include <cstdlib>

#include "../../kernels/aligned.h"
#include "../../kernels/scratch_state.h"
#include "capi.h"
#include "program/effects.h"
#include "values/arena.h"
#include "values/callbacks.h"

using namespace scriptlang;
using namespace scriptlang::capi;

namespace {

constexpr int kWarmUp = 3, kRecorded = 3;  // how many calls are made before recording, and recorded
constexpr size_t kAlign = 64;

// Replaces the scratch memory that kernels use on this thread, until the end of the scope.
class ScratchScope {
 public:
  explicit ScratchScope(kernels::ScratchState* state) : state_(state) {
    kernels::swap_scratch(state_);
  }
  ~ScratchScope() { kernels::swap_scratch(state_); }
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;

 private:
  kernels::ScratchState* state_;
};

// Whether an argument is like that of the example: of the same type and, for tensors, of the same
// sizes and strides. *to gets the argument.
bool fits(const Value& example, const Value& given, Value* to) {
  if (example.is_tensor()) {
    if (!given.is_tensor()) return false;
    const Tensor &a = example.as_tensor(), &b = given.as_tensor();
    if (a.dtype() != b.dtype() || a.sizes() != b.sizes() || a.strides() != b.strides()) {
      return false;
    }
    *to = given;
    return true;
  }
  if (example.is_double() && given.is_int()) return *to = Value(double(given.as_int())), true;
  const bool plain = given.is_int() || given.is_double() || given.is_bool() || given.is_none();
  if (!plain || given.tag() != example.tag()) return false;
  *to = given;
  return true;
}

}  // namespace

struct sl_reservation {
  std::shared_ptr<Module> module;
  Value object;
  std::string method;
  const Program* program = nullptr;
  const Function* function = nullptr;
  std::vector<Value> example;    // the example's arguments after bind(), self first
  std::vector<Value> arguments;  // of the current call; the vector keeps its memory
  size_t given = 0;              // how many arguments the host passes
  std::unique_ptr<memory::Arena> arena = std::make_unique<memory::Arena>();
  void* own = nullptr;  // the block, if it is not the caller's
  kernels::ScratchState scratch;
  sl_value result;
  std::atomic<bool> is_busy{false};
};

namespace {

// Finds the function of the method, and converts the arguments of the example.
void bind_example(sl_reservation* r, sl_value* const* example, size_t count) {
  Module& module = *r->module;
  const ClassType& cls = *r->object.as_object().type;
  module.restore();
  r->function = module.method(cls, r->method);
  if (!r->function) {
    module.complete();
    r->function = module.method(cls, r->method);
  }
  if (!r->function) raise(ErrorKind::RuntimeError, "the module has no method '", r->method, "'");
  if (!r->function->refusal.empty()) raise(ErrorKind::ArchiveError, r->function->refusal);
  r->program = module.program_of(cls, r->method);
  check_count(example, count);
  std::vector<Value> values = values_of(example, count);
  values.insert(values.begin(), r->object);
  Turn turn;
  turn.look(module.domain(), false);
  r->example = bind(*r->program, *r->function, std::move(values), {});
  r->given = count;
}

Value run_once(sl_reservation* r, const Limits& limits) {
  Context context = call_context();
  Turn turn;
  turn.take(r->module->domain(), effect_of(*r->program, *r->function), {}, limits.milliseconds);
  return execute(*r->program, *r->function, r->arguments, context, limits);
}

void fill_arguments(sl_reservation* r, sl_value* const* given) {
  r->arguments.assign(r->example.begin(), r->example.end());
  for (size_t k = 0; given && k < r->given; ++k) {
    fits(r->example[k + 1], given[k] ? given[k]->value : Value(), &r->arguments[k + 1]);
  }
}

void record(sl_reservation* r) {
  kernels::ScratchState scratch;
  {
    ScratchScope scope(&scratch);
    for (int k = 0; k < kWarmUp + kRecorded; ++k) {
      if (k == kWarmUp) r->arena->record();
      fill_arguments(r, nullptr);
      if (k < kWarmUp) {
        run_once(r, {});
        continue;
      }
      Value result;
      {
        memory::Arena::Scope inside(r->arena.get());
        result = run_once(r, {});
      }
    }
  }
  r->arena->plan(scratch.size);
  give_aligned(scratch.base);
  r->arguments.clear();
}

void reserve(sl_reservation* r, sl_value* const* example, size_t count, void* block, size_t bytes) {
  bind_example(r, example, count);
  record(r);
  const size_t needed = std::max<size_t>(r->arena->bytes(), kAlign);
  if (!block) {
    block = r->own = take_aligned(kAlign, (needed + kAlign - 1) & ~(kAlign - 1));
    if (!block) raise(ErrorKind::MemoryError, "cannot allocate ", needed, " bytes");
  } else if (bytes < needed) {
    raise(ErrorKind::MemoryError, "the block of ", bytes, " bytes is too small: the calls need ",
          needed);
  }
  if (!r->arena->use(block)) raise(ErrorKind::RuntimeError, "there are 64 reservations already");
  r->scratch.base = static_cast<char*>(r->arena->scratch());
  r->scratch.size = r->arena->scratch_bytes();
  r->scratch.is_lent = true;
}

sl_status make(sl_module* module, const char* method, sl_value* const* example, size_t count,
               void* block, size_t bytes, sl_reservation** reservation, sl_error** error) {
  if (memory::in_callback()) return misuse(error, kInCallback);
  return guarded(error, [&] {
    auto made = std::make_unique<sl_reservation>();
    made->module = module->module;
    made->object = module->object;
    made->method = method;
    try {
      reserve(made.get(), example, count, block, bytes);
    } catch (...) {
      give_aligned(made->own);
      throw;
    }
    *reservation = made.release();
  });
}

// Sets the arguments of a call. False if they are unlike the example, so that the block may not be
// used.
bool prepare(sl_reservation* r, sl_value* const* arguments, size_t count) {
  if (count != r->given) return false;
  r->arguments.assign(r->example.begin(), r->example.end());
  for (size_t k = 0; k < count; ++k) {
    const sl_value* given = arguments[k];
    const Value none;
    if (given && given->domain) return false;
    if (!fits(r->example[k + 1], given ? given->value : none, &r->arguments[k + 1])) return false;
  }
  return true;
}

void call_reserved(sl_reservation* r, const Limits& limits) {
  ScratchScope scratch(&r->scratch);
  memory::Arena::Scope inside(r->arena.get());
  r->result.value = run_once(r, limits);
}

// A call with arguments unlike the example. It allocates memory, as sl_call does.
void call_as_others(sl_reservation* r, sl_value* const* arguments, size_t count,
                    const Limits& limits) {
  r->arena->miss();
  Context context = call_context();
  DomainRef domain(r->result.domain);
  check_count(arguments, count);
  for (size_t k = 0; k < count; ++k) join_domain(&domain, arguments[k]);
  Turn turn;
  r->result.value = r->module->call_on(r->object, r->method, values_of(arguments, count), {},
                                       context, limits, &turn);
}

}  // namespace

sl_status sl_reserve(sl_module* module, const char* method, sl_value* const* example, size_t count,
                     sl_reservation** reservation, sl_error** error) {
  if (reservation) *reservation = nullptr;
  if (!module || !method || !reservation || (!example && count)) {
    return misuse(error, "sl_reserve needs a module, a method, an example and a place");
  }
  return make(module, method, example, count, nullptr, 0, reservation, error);
}

sl_status sl_reserve_memory(sl_module* module, const char* method, sl_value* const* example,
                            size_t count, void* block, size_t bytes, sl_reservation** reservation,
                            sl_error** error) {
  if (reservation) *reservation = nullptr;
  if (!module || !method || !reservation || (!example && count) || !block) {
    return misuse(error,
                  "sl_reserve_memory needs a module, a method, an example, a block and a place");
  }
  if (reinterpret_cast<uintptr_t>(block) % kAlign != 0) {
    return misuse(error, "the block is not aligned to 64 bytes");
  }
  return make(module, method, example, count, block, bytes, reservation, error);
}

size_t sl_reservation_bytes(const sl_reservation* reservation) {
  return reservation ? std::max<size_t>(reservation->arena->bytes(), kAlign) : 0;
}
size_t sl_reservation_planned(const sl_reservation* reservation) {
  return reservation ? reservation->arena->planned_bytes() : 0;
}
int64_t sl_reservation_misses(const sl_reservation* reservation) {
  return reservation ? reservation->arena->misses() : 0;
}

sl_status sl_call_reserved(sl_reservation* reservation, sl_value* const* arguments, size_t count,
                           const sl_limits* limits, const sl_value** result, sl_error** error) {
  if (result) *result = nullptr;
  if (!reservation || !result || (!arguments && count)) {
    return misuse(error, "sl_call_reserved needs a reservation, arguments and a place");
  }
  if (memory::in_callback()) return misuse(error, kInCallback);
  if (std::find(arguments, arguments + count, &reservation->result) != arguments + count) {
    return misuse(error, "the last result is no argument: pass what sl_value_share makes of it");
  }
  Limits known;
  if (const char* wrong = read_limits(limits, &known)) return misuse(error, wrong);
  if (reservation->is_busy.exchange(true, std::memory_order_acquire)) {
    return misuse(error, "another thread calls this reservation");
  }
  const sl_status status = guarded(error, [&] {
    reservation->result.value.reset();
    if (!reservation->result.domain) {
      reservation->module->domain()->retain();
      reservation->result.domain = DomainRef(reservation->module->domain());
    }
    if (prepare(reservation, arguments, count)) call_reserved(reservation, known);
    else call_as_others(reservation, arguments, count, known);
    *result = &reservation->result;
  });
  for (Value& v : reservation->arguments) v.reset();
  reservation->is_busy.store(false, std::memory_order_release);
  return status;
}

size_t sl_reservation_release(sl_reservation* reservation) {
  if (!reservation) return 0;
  Outside outside;
  std::unique_ptr<sl_reservation> ending(reservation);
  std::unique_ptr<memory::Arena> arena = std::move(ending->arena);
  const bool is_own = ending->own != nullptr;
  ending.reset();  // drops the result, and perhaps the module
  const size_t left = arena->live();
  void (*end)(void* block) = nullptr;
  if (is_own) end = [](void* own) { give_aligned(own); };
  memory::Arena::close(std::move(arena), end);
  return left;
}
