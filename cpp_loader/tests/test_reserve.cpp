// Reserved calls: a counting allocator proves that they take nothing from the system; what does not
// fit the reservation works as ever and is counted. Linked with --wrap, as test_api_memory.
#include <scriptlang/scriptlang.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "source_archives.h"
#include "values/guard.h"

using namespace test;

extern "C" {
void* __real_malloc(size_t bytes);
void* __real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void** block, size_t alignment, size_t n);
void* __real_calloc(size_t count, size_t bytes);
}

namespace {

bool counts = false;
long taken = 0;

void note() {
  if (counts) ++taken;
}

}  // namespace

extern "C" {
void* __wrap_malloc(size_t n) { return note(), __real_malloc(n); }
void* __wrap_aligned_alloc(size_t alignment, size_t n) {
  return note(), __real_aligned_alloc(alignment, n);
}
int __wrap_posix_memalign(void** block, size_t alignment, size_t n) {
  return note(), __real_posix_memalign(block, alignment, n);
}
void* __wrap_calloc(size_t count, size_t n) { return note(), __real_calloc(count, n); }
}

__attribute__((noinline)) void* operator new(size_t n) {
  note();
  if (void* block = __real_malloc(n)) return block;
  throw std::bad_alloc();
}
// std::stable_sort asks so for its buffer.
__attribute__((noinline)) void* operator new(size_t n, const std::nothrow_t&) noexcept {
  return note(), __real_malloc(n);
}
__attribute__((noinline)) void operator delete(void* block) noexcept { std::free(block); }
__attribute__((noinline)) void operator delete(void* block, size_t) noexcept { std::free(block); }
__attribute__((noinline)) void operator delete(void* block, const std::nothrow_t&) noexcept {
  std::free(block);
}

namespace {

struct Loaded {
  sl_module* handle = nullptr;
  explicit Loaded(const std::string& bytes) {
    CHECK_EQ(sl_load_memory(bytes.data(), bytes.size(), &handle, nullptr), SL_OK);
  }
  ~Loaded() { sl_module_release(handle); }
};

sl_value* ramp(std::vector<int64_t> sizes, float step = 0.01f) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  std::vector<float> values;
  for (int64_t k = 0; k < n; ++k) values.push_back(step * float(k % 23 - 11));
  return sl_tensor_copy(values.data(), SL_FLOAT32, sizes.data(), sizes.size());
}

std::vector<float> values_of(const sl_value* v, size_t n) {
  std::vector<float> out(n, NAN);
  CHECK_EQ(sl_tensor_read(v, SL_FLOAT32, out.data(), n * sizeof(float)), SL_OK);
  return out;
}

// A filter with a state, which a call replaces.
const char* kFilter =
    "class M(Module):\n"
    "  __parameters__ = []\n"
    "  __buffers__ = [\"state\", ]\n"
    "  state : Tensor\n"
    "  def f(self: __torch__.M, x: Tensor, rate: float) -> Tensor:\n"
    "    wide = torch.unsqueeze(x, 0)\n"
    "    rows = torch.matmul(torch.transpose(wide, 0, 1), wide)\n"
    "    mean = torch.mean(rows, [0], False, dtype=None)\n"
    "    next = torch.add(torch.mul(self.state, rate), mean)\n"
    "    self.state = next\n"
    "    return torch.add(torch.tanh(next), x)\n";

std::string filter() {
  std::string data(64 * 4, '\0');
  std::string state = p_tensor(p_storage("FloatStorage", "0", 64), 0, {64}, {1});
  return make_zip({{"m/version", "10"},
                   {"m/data.pkl", pickle(p_object("__torch__", "M", {{"state", state}}))},
                   {"m/data/0", data},
                   {"m/code/__torch__.py", kFilter},
                   {"m/constants.pkl", pickle(")")}});
}

// What sl_call gives; one module, so that both see the same states.
std::vector<std::vector<float>> plain_results(int calls) {
  Loaded m(filter());
  std::vector<std::vector<float>> all;
  for (int k = 0; k < calls; ++k) {
    sl_value* arguments[2] = {ramp({64}, 0.01f * float(k + 1)), sl_value_double(0.5)};
    sl_value* result = nullptr;
    CHECK_EQ(sl_call(m.handle, "f", arguments, 2, nullptr, &result, nullptr), SL_OK);
    all.push_back(values_of(result, 64));
    for (sl_value* v : arguments) sl_value_release(v);
    sl_value_release(result);
  }
  return all;
}

void reset_state(sl_module* m) {
  float zeros[64] = {};
  int64_t size = 64;
  sl_value* state = sl_tensor_copy(zeros, SL_FLOAT32, &size, 1);
  CHECK_EQ(sl_module_set_attribute(m, "state", state, nullptr), SL_OK);
  sl_value_release(state);
}

alignas(64) char block[1 << 18];

}  // namespace

TEST(reserved_calls_take_nothing_and_give_the_same) {
  sl_set_threads(1);
  const auto wanted = plain_results(6);
  Loaded m(filter());
  sl_value* example[2] = {ramp({64}), sl_value_double(0.5)};
  sl_reservation* r = nullptr;
  CHECK_EQ(sl_reserve_memory(m.handle, "f", example, 2, block, sizeof block, &r, nullptr), SL_OK);
  CHECK(sl_reservation_bytes(r) <= sizeof block);
  CHECK(sl_reservation_planned(r) >= 64 * 64 * 4);  // rows
  reset_state(m.handle);
  for (int k = 0; k < 6; ++k) {
    sl_value* arguments[2] = {ramp({64}, 0.01f * float(k + 1)), sl_value_double(0.5)};
    const sl_value* result = nullptr;
    taken = 0;
    counts = true;
    sl_status status = sl_call_reserved(r, arguments, 2, nullptr, &result, nullptr);
    counts = false;
    CHECK_EQ(status, SL_OK);
    if (!memory::is_checked()) CHECK_EQ(taken, 0);
    CHECK(values_of(result, 64) == wanted[size_t(k)]);
    for (sl_value* v : arguments) sl_value_release(v);
  }
  if (!memory::is_checked()) CHECK_EQ(sl_reservation_misses(r), 0);
  for (sl_value* v : example) sl_value_release(v);
  sl_module_release(std::exchange(m.handle, nullptr));
  CHECK_EQ(sl_reservation_release(r), 0u);
}

TEST(networks_take_nothing) {
  sl_set_threads(1);
  const std::string folder = SCRIPTLANG_TEST_DATA "/../../../tests/data/";
  for (const char* name : {"resnet.script.pt", "mlp.script.pt"}) {
    sl_module* m = nullptr;
    CHECK_EQ(sl_load_file((folder + name).c_str(), &m, nullptr), SL_OK);
    const bool images = name[0] == 'r';
    sl_value* x = images ? ramp({1, 3, 32, 32}) : ramp({3, 6});
    const size_t size = images ? 5 : 12;
    sl_value* plain = nullptr;
    CHECK_EQ(sl_call(m, "forward", &x, 1, nullptr, &plain, nullptr), SL_OK);
    sl_reservation* r = nullptr;
    CHECK_EQ(sl_reserve(m, "forward", &x, 1, &r, nullptr), SL_OK);
    for (int k = 0; k < 3; ++k) {
      const sl_value* result = nullptr;
      taken = 0;
      counts = true;
      CHECK_EQ(sl_call_reserved(r, &x, 1, nullptr, &result, nullptr), SL_OK);
      counts = false;
      if (!memory::is_checked()) CHECK_EQ(taken, 0);
      CHECK(values_of(result, size) == values_of(plain, size));
    }
    if (!memory::is_checked()) CHECK_EQ(sl_reservation_misses(r), 0);
    CHECK_EQ(sl_reservation_release(r), 0u);
    sl_value_release(plain);
    sl_value_release(x);
    sl_module_release(m);
  }
}

TEST(random_numbers_are_those_of_other_calls) {
  Loaded m(archive_of(method(", x: Tensor) -> Tensor",
                             "_0 = torch.manual_seed(7)\nreturn torch.dropout(x, 0.5, True)")));
  sl_value* x = ramp({12});
  sl_reservation* r = nullptr;
  CHECK_EQ(sl_reserve(m.handle, "f", &x, 1, &r, nullptr), SL_OK);
  sl_value* plain = nullptr;
  CHECK_EQ(sl_call(m.handle, "f", &x, 1, nullptr, &plain, nullptr), SL_OK);
  const sl_value* result = nullptr;
  CHECK_EQ(sl_call_reserved(r, &x, 1, nullptr, &result, nullptr), SL_OK);
  CHECK(values_of(result, 12) == values_of(plain, 12));
  CHECK_EQ(sl_reservation_release(r), 0u);
  sl_value_release(plain);
  sl_value_release(x);
}

TEST(other_sizes_work_and_are_counted) {
  Loaded m(archive_of(method(", x: Tensor) -> Tensor", "return torch.mul(torch.add(x, x), x)")));
  sl_value *small = ramp({300}), *large = ramp({70, 70});
  sl_reservation* r = nullptr;
  CHECK_EQ(sl_reserve(m.handle, "f", &small, 1, &r, nullptr), SL_OK);
  const sl_value* result = nullptr;
  CHECK_EQ(sl_call_reserved(r, &large, 1, nullptr, &result, nullptr), SL_OK);
  CHECK_EQ(sl_reservation_misses(r), 1);
  sl_value* plain = nullptr;
  CHECK_EQ(sl_call(m.handle, "f", &large, 1, nullptr, &plain, nullptr), SL_OK);
  CHECK(values_of(result, 4900) == values_of(plain, 4900));
  CHECK_EQ(sl_call_reserved(r, nullptr, 0, nullptr, &result, nullptr), SL_RUN_ERROR);
  CHECK(result == nullptr);
  CHECK_EQ(sl_call_reserved(r, &small, 1, nullptr, &result, nullptr), SL_OK);
  for (sl_value* v : {small, large, plain}) sl_value_release(v);
  CHECK_EQ(sl_reservation_release(r), 0u);
}

TEST(results_that_are_kept_stay) {
  Loaded m(archive_of(method(", x: Tensor) -> Tensor", "return torch.add(torch.mul(x, x), 1)")));
  sl_value* x = ramp({300});
  sl_reservation* r = nullptr;
  CHECK_EQ(sl_reserve(m.handle, "f", &x, 1, &r, nullptr), SL_OK);
  std::vector<sl_value*> kept;
  std::vector<std::vector<float>> wanted;
  for (int k = 0; k < 5; ++k) {
    sl_value* y = ramp({300}, 0.1f * float(k));
    const sl_value* result = nullptr;
    CHECK_EQ(sl_call_reserved(r, &y, 1, nullptr, &result, nullptr), SL_OK);
    kept.push_back(sl_value_share(result));
    wanted.push_back(values_of(result, 300));
    sl_value_release(y);
  }
  if (!memory::is_checked()) CHECK(sl_reservation_misses(r) > 0);
  const size_t left = sl_reservation_release(r);
  if (!memory::is_checked()) CHECK(left > 0);  // its own block stays until they are gone
  for (size_t k = 0; k < kept.size(); ++k) {
    CHECK(values_of(kept[k], 300) == wanted[k]);
    sl_value_release(kept[k]);
  }
  sl_value_release(x);
}

TEST(a_result_is_no_argument_of_the_next_call) {
  Loaded m(archive_of(method(", x: Tensor) -> Tensor", "return torch.mul(x, x)")));
  sl_value* x = ramp({30});
  sl_reservation* r = nullptr;
  CHECK_EQ(sl_reserve(m.handle, "f", &x, 1, &r, nullptr), SL_OK);
  const sl_value *result = nullptr, *none = nullptr;
  CHECK_EQ(sl_call_reserved(r, &x, 1, nullptr, &result, nullptr), SL_OK);
  sl_value* again = const_cast<sl_value*>(result);
  sl_error* error = nullptr;
  CHECK_EQ(sl_call_reserved(r, &again, 1, nullptr, &none, &error), SL_INVALID_ARGUMENT);
  CHECK(none == nullptr && std::strstr(sl_error_message(error), "sl_value_share") != nullptr);
  sl_error_release(error);
  CHECK(values_of(result, 30) != values_of(x, 30));  // it is still there
  CHECK_EQ(sl_reservation_release(r), 0u);
  sl_value_release(x);
}

TEST(other_ways_through_a_program_are_safe) {
  // The same sizes taken in the same order, but the first one is still wanted at the end.
  const char* body =
      "a = torch.mul(x, 2)\n"
      "if flag:\n"
      "  keep = a\n"
      "else:\n"
      "  keep = x\n"
      "b = torch.tanh(torch.neg(keep))\n"
      "c = torch.sin(torch.relu(b))\n"
      "d = torch.matmul(c, torch.cos(b))\n"
      "return torch.add(torch.matmul(d, keep), keep)";
  Loaded m(archive_of(method(", x: Tensor, flag: bool) -> Tensor", body)));
  sl_value* example[2] = {ramp({20, 20}), sl_value_bool(0)};
  sl_reservation* r = nullptr;
  CHECK_EQ(sl_reserve(m.handle, "f", example, 2, &r, nullptr), SL_OK);
  for (int flag : {1, 0, 1}) {
    sl_value* arguments[2] = {ramp({20, 20}, 0.02f), sl_value_bool(flag)};
    sl_value* plain = nullptr;
    CHECK_EQ(sl_call(m.handle, "f", arguments, 2, nullptr, &plain, nullptr), SL_OK);
    const sl_value* result = nullptr;
    CHECK_EQ(sl_call_reserved(r, arguments, 2, nullptr, &result, nullptr), SL_OK);
    CHECK(values_of(result, 400) == values_of(plain, 400));
    sl_value_release(plain);
    for (sl_value* v : arguments) sl_value_release(v);
  }
  CHECK_EQ(sl_reservation_release(r), 0u);
  for (sl_value* v : example) sl_value_release(v);
}

TEST(misuse_is_told) {
  Loaded m(filter());
  sl_value* example[2] = {ramp({64}), sl_value_double(0.25)};
  sl_reservation* r = nullptr;
  sl_error* error = nullptr;
  CHECK_EQ(sl_reserve_memory(m.handle, "f", example, 2, block, 64, &r, &error), SL_OUT_OF_MEMORY);
  CHECK(r == nullptr && std::strstr(sl_error_message(error), "the calls need") != nullptr);
  sl_error_release(error);
  CHECK_EQ(sl_reserve_memory(m.handle, "f", example, 2, block + 8, 4096, &r, nullptr),
           SL_INVALID_ARGUMENT);
  CHECK_EQ(sl_reserve(m.handle, "g", example, 2, &r, nullptr), SL_RUN_ERROR);
  CHECK_EQ(sl_reserve(m.handle, "f", example, 1, &r, nullptr), SL_RUN_ERROR);
  CHECK_EQ(sl_reserve(nullptr, "f", example, 2, &r, nullptr), SL_INVALID_ARGUMENT);
  CHECK_EQ(sl_reservation_release(nullptr), 0u);
  for (sl_value* v : example) sl_value_release(v);
}

int main(int count, char** arguments) { return test::main(count, arguments); }
