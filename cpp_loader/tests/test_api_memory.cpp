// Memory that runs out, at each allocation of the C interface in turn: a status or null, nothing
// that leaks, and the next call works. Linked with --wrap=malloc, aligned_alloc, calloc and free.
// An argument N refuses every N-th of what is refused without it.
#include <scriptlang/scriptlang.h>
#include <scriptlang/scriptlang.hpp>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <thread>

#include "checks.h"

extern "C" {
void* __real_malloc(size_t bytes);
void* __real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void** block, size_t alignment, size_t n);
void* __real_calloc(size_t count, size_t bytes);
void __real_free(void* block);
}

namespace {

enum Way { kOne, kAllFrom };  // what is refused: the n-th allocation, or it and all after it
thread_local bool counts = false;
thread_local long count = 0, refused = 0;
thread_local Way way = kOne;
std::atomic<long> live{0};

bool refuses() {
  if (!counts) return false;
  ++count;
  return way == kOne ? count == refused : count >= refused;
}
void* counted(void* block) {
  if (block) ++live;
  return block;
}

}  // namespace

extern "C" {
void* __wrap_malloc(size_t n) { return refuses() ? nullptr : counted(__real_malloc(n)); }
void* __wrap_aligned_alloc(size_t alignment, size_t n) {
  return refuses() ? nullptr : counted(__real_aligned_alloc(alignment, n));
}
int __wrap_posix_memalign(void** block, size_t alignment, size_t n) {
  if (refuses()) return ENOMEM;
  int status = __real_posix_memalign(block, alignment, n);
  if (status == 0) counted(*block);
  return status;
}
void* __wrap_calloc(size_t n, size_t bytes) {
  return refuses() ? nullptr : counted(__real_calloc(n, bytes));
}
void __wrap_free(void* block) {
  if (block) --live;
  __real_free(block);
}
}
void* operator new(size_t n) {
  void* block = __wrap_malloc(n);
  if (!block) throw std::bad_alloc();
  return block;
}
void* operator new(size_t n, const std::nothrow_t&) noexcept { return __wrap_malloc(n); }
void operator delete(void* block) noexcept { __wrap_free(block); }
void operator delete(void* block, size_t) noexcept { __wrap_free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { __wrap_free(block); }

namespace {

std::string archive;

// A status that says what happened.
bool is_honest(sl_status status, sl_error* error) {
  bool good = status == SL_OK || status == SL_OUT_OF_MEMORY;
  if (!good) std::printf("  %d: %s\n", int(status), sl_error_message(error));
  sl_error_release(error);
  return good;
}

sl_status load(sl_module** module) {
  sl_error* error = nullptr;
  sl_status status = sl_load_memory(archive.data(), archive.size(), module, &error);
  CHECK((status == SL_OK) == (*module != nullptr) && is_honest(status, error));
  return status;
}

// True when nothing was refused that it asked for.
bool call(sl_module* m, const char* method, sl_value* argument, sl_status wanted = SL_OK) {
  sl_value* result = nullptr;
  sl_error* error = nullptr;
  sl_status status = sl_call(m, method, &argument, argument ? 1 : 0, nullptr, &result, &error);
  CHECK((status == SL_OK) == (result != nullptr));
  if (wanted != SL_OK && status == wanted) {
    sl_error_release(error);
  } else {
    CHECK(is_honest(status, error));
  }
  char* text = nullptr;
  sl_status printed = result ? sl_value_text(result, &text, nullptr) : SL_OUT_OF_MEMORY;
  CHECK((printed == SL_OK) == (text != nullptr));
  sl_value* item = sl_value_item(result, 0);
  sl_value_release(item);
  sl_text_release(text);
  sl_value_release(result);
  return status == wanted;
}

bool make_and_call(sl_module* m) {
  float x[4] = {1, 2, 3, 4};
  int64_t shape[] = {2, 2};
  sl_value* text = sl_value_string("a text that is longer than most", 31);
  sl_value* number = sl_value_int(3);
  sl_value* tensor = sl_tensor_view(x, SL_FLOAT32, shape, 2, nullptr, nullptr);
  sl_value* copy = sl_tensor_copy(x, SL_FLOAT32, shape, 2);
  sl_value *texts[] = {text, text}, *pair[] = {number, text};
  sl_value *list = sl_value_list(texts, 2), *tuple = sl_value_tuple(pair, 2);
  sl_value* dict = text ? sl_value_dict(&text, &number, 1) : nullptr;
  sl_value* complex = sl_value_complex(1, 2);
  bool all = text && number && tensor && copy && list && tuple && dict && complex;
  if (all) {
    bool good[] = {call(m, "forward", tensor),    call(m, "texts", list),
                   call(m, "by_text", dict),      call(m, "point", tuple),
                   call(m, "imaginary", complex), call(m, "fail", text, SL_RUN_ERROR),
                   call(m, "counter", number),    call(m, "later", copy),
                   call(m, "span", number),       call(m, "none", nullptr, SL_RUN_ERROR)};
    for (bool one : good) all = all && one;
  }
  for (sl_value* v : {text, number, tensor, copy, list, tuple, dict, complex}) sl_value_release(v);
  return all;
}

// What one function gave: true where it worked; else it has to say that memory is out.
template <class F>
bool worked(F&& function) {
  sl_error* error = nullptr;
  sl_status status = function(&error);
  CHECK(is_honest(status, error));
  return status == SL_OK;
}

int write_nowhere(const void*, size_t, void*) { return 0; }

// Looks into a module, changes a copy of it, and saves it.
bool look_and_change(sl_module* m) {
  sl_module *copy = nullptr, *child = nullptr;
  sl_value *dict = nullptr, *key = nullptr, *held = nullptr, *object = nullptr, *number = nullptr;
  sl_signature* signature = nullptr;
  char* text = nullptr;
  const char* data = nullptr;
  size_t cursor = 0, size = 0;
  bool good =
      worked([&](auto e) { return sl_module_clone(m, &copy, e); }) &&
      worked([&](auto e) { return sl_module_list(copy, SL_PARAMETERS, 1, &dict, e); }) &&
      worked([&](auto) { return sl_dict_next(dict, &cursor, &key, &held); }) &&
      worked([&](auto e) { return sl_module_child(copy, "block.keeper", &child, e); }) &&
      worked([&](auto e) { return sl_module_signature(copy, "defaults", &signature, e); }) &&
      worked([&](auto) { return sl_module_text(child, &text, nullptr); }) &&
      worked([&](auto e) { return sl_module_train(copy, 0, e); }) &&
      worked([&](auto e) { return sl_module_to(copy, SL_FLOAT64, e); }) &&
      worked([&](auto e) { return sl_module_extra(m, "labels.txt", &data, &size, e); }) &&
      (number = sl_value_int(3)) != nullptr && worked([&](auto e) {
        return sl_module_make(copy, "__torch__.Counter", &number, 1, nullptr, &object, e);
      }) &&
      worked([&](auto e) { return sl_module_set_attribute(copy, "owned", object, e); }) &&
      worked([&](auto) { return sl_dict_set(dict, key, held); }) &&
      worked([&](auto e) { return sl_save_stream(copy, write_nowhere, nullptr, nullptr, 0, e); });
  CHECK(!good || (copy && dict && key && held && child && signature && text && object));
  for (sl_value* v : {dict, key, held, object, number}) sl_value_release(v);
  sl_signature_release(signature);
  sl_text_release(text);
  sl_module_release(child);
  sl_module_release(copy);
  return good;
}

// What is not refused, in a thread of its own: nothing is kept from call to call.
template <class F>
long run(Way how, long at, F&& body) {
  long asked = 0;
  std::thread([&] {
    way = how;
    refused = at;
    count = 0;
    body();
    counts = false;
    asked = count;
  }).join();
  return asked;
}

enum Part { kLoading, kCalls, kChanges };  // where memory runs out

bool loads_and_calls(Part part) {
  sl_module* module = nullptr;
  counts = part == kLoading;
  bool good = load(&module) == SL_OK;
  counts = part != kLoading;
  if (good && part == kCalls) good = make_and_call(module);
  if (good && part == kChanges) good = look_and_change(module);
  counts = false;
  if (module) good = make_and_call(module) && look_and_change(module) && good;  // again
  sl_module_release(module);
  return good;
}

void sweep(Part part, Way how, long every) {
  long refusals = 0, all = 0;
  for (int k = 0; k < 2; ++k) {  // what is made once for the process
    all = run(how, 0x7fffffff, [&] { CHECK(loads_and_calls(part)); });
  }
  long before = live;
  for (long at = 1; at <= all; at += every * (part == kCalls ? 1 : 1 + at / 40), ++refusals) {
    run(how, at, [&] { loads_and_calls(part); });
    if (live != before) {
      CHECK(!"blocks are left");
      std::printf("  %ld more, part %d, at %ld of %ld\n", live - before, int(part), at, all);
      before = live;
    }
  }
  CHECK(refusals > 50 / every);
  std::printf("%ld refusals of %ld allocations\n", refusals, all);
}

// What the C++ interface throws if the first allocation of `act` is refused.
template <class F>
void throws_memory_error(F&& act) {
  sl_status status = SL_OK;
  std::string class_name;
  run(kOne, 1, [&] {
    counts = true;
    try {
      act();
    } catch (const scriptlang::Error& error) {
      counts = false;
      status = error.status();
      class_name = error.class_name();
    }
  });
  CHECK(status == SL_OUT_OF_MEMORY && class_name == "MemoryError");
}

void wrappers() {
  using scriptlang::Value;
  const scriptlang::Module module = scriptlang::load(archive.data(), archive.size());
  const Value list = Value::list({Value(1), Value(2)}), dict = Value::dict({{"a", 1}});
  const Value object = module.value();
  const scriptlang::Tensor tensor = scriptlang::Tensor::take<float>({1, 2}, {2});
  throws_memory_error([&] { list[1]; });
  throws_memory_error([&] { dict[0]; });
  throws_memory_error([&] { dict.key(0); });
  throws_memory_error([&] { object.member("training"); });
  throws_memory_error([&] { module.value(); });
  throws_memory_error([&] { scriptlang::grad_of(tensor); });
  throws_memory_error([&] { scriptlang::detach(tensor); });
  throws_memory_error([&] { tensor.contiguous(); });
  throws_memory_error([] { Value(1); });
  auto misused = [](auto&& found) {
    return !found && found.error().status() == SL_INVALID_ARGUMENT;
  };
  CHECK(misused(list.try_at(2)) && misused(dict.try_at(1)) && misused(Value(1).try_at(0)));
  CHECK(misused(object.try_member("nothing")) && misused(list.try_member("a")));
}

}  // namespace

int main(int count, char** arguments) {
  const long every = count > 1 ? std::atol(arguments[1]) : 1;
  for (const char* name : {"/client_plain.pt", "/client.pt"}) {
    std::ifstream file(std::string(SCRIPTLANG_TEST_DATA) + name, std::ios::binary);
    archive.assign(std::istreambuf_iterator<char>(file), {});
    for (Way how : {kOne, kAllFrom}) {
      for (Part part : {kLoading, kCalls, kChanges}) sweep(part, how, every);
    }
    wrappers();
  }
  std::printf("%d failures\n", failures);
  return failures != 0;
}
