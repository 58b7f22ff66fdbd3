// Memory that runs out, at each allocation of the C interface in turn: a status or null, nothing
// that leaks, and the next call works. Linked with --wrap=malloc, aligned_alloc, calloc and free.
#include <scriptlang/scriptlang.h>

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

int failures = 0;
#define CHECK(condition)                                                 \
  do {                                                                   \
    if (!(condition)) {                                                  \
      ++failures;                                                        \
      std::printf("%s:%d: false: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                    \
  } while (0)

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
    bool good[] = {call(m, "forward", tensor), call(m, "texts", list), call(m, "by_text", dict),
                   call(m, "point", tuple),    call(m, "imaginary", complex),
                   call(m, "fail", text, SL_RUN_ERROR), call(m, "counter", number),
                   call(m, "later", copy),     call(m, "span", number),
                   call(m, "none", nullptr, SL_RUN_ERROR)};
    for (bool one : good) all = all && one;
  }
  for (sl_value* v : {text, number, tensor, copy, list, tuple, dict, complex}) sl_value_release(v);
  return all;
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

bool loads_and_calls(bool in_load) {
  sl_module* module = nullptr;
  counts = in_load;
  bool good = load(&module) == SL_OK;
  counts = !in_load;
  if (good && !in_load) good = make_and_call(module);
  counts = false;
  if (module) good = make_and_call(module) && good;  // it works again
  sl_module_release(module);
  return good;
}

void sweep(bool in_load, Way how) {
  long refusals = 0, all = 0;
  for (int k = 0; k < 2; ++k) {  // what is made once for the process
    all = run(how, 0x7fffffff, [&] { CHECK(loads_and_calls(in_load)); });
  }
  long before = live;
  for (long at = 1; at <= all; at += in_load ? 1 + at / 40 : 1, ++refusals) {
    run(how, at, [&] { loads_and_calls(in_load); });
    if (live != before) {
      CHECK(!"blocks are left");
      std::printf("  %ld more, %s, at %ld of %ld\n", live - before, in_load ? "load" : "call", at,
                  all);
      before = live;
    }
  }
  CHECK(refusals > 50);
  std::printf("%ld refusals of %ld allocations\n", refusals, all);
}

}  // namespace

int main() {
  std::ifstream file(SCRIPTLANG_TEST_DATA "/client.pt", std::ios::binary);
  archive.assign(std::istreambuf_iterator<char>(file), {});
  for (Way how : {kOne, kAllFrom}) {
    sweep(true, how);
    sweep(false, how);
  }
  std::printf("%d failures\n", failures);
  return failures != 0;
}
