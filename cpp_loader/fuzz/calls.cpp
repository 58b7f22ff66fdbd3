// Decodes the bytes of a fuzzing input into a sequence of calls of the C API, and makes them.
#include "calls.h"

#include <scriptlang/scriptlang.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "../kernels/aligned.h"
#include "bytes.h"

namespace fuzz {

namespace {

int64_t blocks = 0;                            // of the caller, which tensors lie over
int64_t hooked = 0, asked = 0, refuse_at = 0;  // of the allocator

void end_block(void* user) {
  std::free(user);
  --blocks;
  sl_value* inner = sl_value_string("made within a release", 21);  // is allowed
  sl_value_release(inner);
}

void* allocate(size_t bytes, void*) {
  WANT(bytes > 0);
  if (++asked == refuse_at) return nullptr;
  void* block = scriptlang::take_aligned(64, bytes);
  if (!block) return nullptr;
  ++hooked;
  return block;
}
void release(void* block, size_t, void*) {
  if (!block) return;
  --hooked;
  scriptlang::give_aligned(block);
}
const sl_allocator kHook = {allocate, release, nullptr};

constexpr size_t kMostValues = 24;
constexpr double kMostNodes = 20000;  // of a value that is printed: shared parts are printed again

class Calls {
 public:
  Calls(Bytes bytes, const std::string& archive) : bytes_(bytes), archive_(archive) { load(); }
  ~Calls() {
    while (!values_.empty()) drop(values_.size() - 1);
    sl_module_release(module_);
  }

  void run() {
    while (bytes_.more()) step();
  }

 private:
  struct Held {
    sl_value* value;
    double nodes;
  };

  void load() {
    sl_status status = sl_load_memory(archive_.data(), archive_.size(), &module_, nullptr);
    if (status == SL_OUT_OF_MEMORY) {  // the allocator refuses one block
      status = sl_load_memory(archive_.data(), archive_.size(), &module_, nullptr);
    }
    WANT(status == SL_OK);
  }
  void keep(sl_value* value, double nodes = 1) {
    if (values_.size() == kMostValues) drop(bytes_.below(kMostValues));
    values_.push_back({value, nodes});
  }
  void drop(size_t at) {
    sl_value_release(values_[at].value);
    values_.erase(values_.begin() + ptrdiff_t(at));
  }
  Held any() { return values_.empty() ? Held{nullptr, 1} : values_[bytes_.below(values_.size())]; }
  std::vector<sl_value*> some(size_t most, double* nodes) {
    std::vector<sl_value*> given(bytes_.below(most + 1));
    for (sl_value*& value : given) {
      Held held = any();
      value = held.value;
      *nodes += held.nodes;
    }
    return given;
  }

  void step() {
    switch (bytes_.below(32)) {
      case 0: return keep(sl_value_none());
      case 1: return keep(sl_value_bool(int(bytes_.word())));
      case 2: return keep(sl_value_int(bytes_.word()));
      case 3: return keep(sl_value_double(bytes_.real()));
      case 4: return keep(sl_value_complex(bytes_.real(), bytes_.real()));
      case 5: return text();
      case 6: return device();
      case 7: return keep(sl_value_generator(uint64_t(bytes_.word())));
      case 8:
      case 9: return sequence();
      case 10: return dict();
      case 11:
      case 12: return tensor();
      case 13: return strided();
      case 14:
        if (!values_.empty()) drop(bytes_.below(values_.size()));
        return;
      case 15: return parts();
      case 16: return print();
      case 17: return read(any().value);
      case 18: return read_tensor(any().value);
      case 19: return attribute();
      case 20: return settings();
      case 21: return change_container();
      case 22: return change_module();
      case 23: return look_at_module();
      case 24: return other_module();
      case 25: return make_object();
      case 26: return convert_tensor();
      case 27: return share();
      default: return call();
    }
  }

  void text() {
    std::string s = bytes_.text();
    sl_value* made = sl_value_string(s.data(), s.size());
    if (made) {
      const char* told = nullptr;
      size_t size = 0;
      WANT(sl_value_get_string(made, &told, &size) == SL_OK);
      WANT(std::string(told, size) == s && told[size] == 0);
    }
    keep(made);
  }
  void device() {
    static const char* const kNames[] = {"cpu", "cuda:1", "meta", "cuda:", "x", "", "cpu:99999"};
    keep(sl_value_device(kNames[bytes_.below(7)]));
  }
  void sequence() {
    double nodes = 1;
    std::vector<sl_value*> items = some(8, &nodes);
    bool is_list = bytes_.byte() % 2;
    sl_value* made = is_list ? sl_value_list(items.data(), items.size())
                             : sl_value_tuple(items.data(), items.size());
    WANT(made && sl_value_length(made) == items.size());
    for (size_t k = 0; k < items.size(); ++k) {
      sl_value* item = sl_value_item(made, k);
      WANT(sl_value_kind(item) == sl_value_kind(items[k]));
      sl_value_release(item);
    }
    keep(made, nodes);
  }
  void dict() {
    double nodes = 1;
    std::vector<sl_value*> keys = some(5, &nodes), held = some(5, &nodes);
    size_t count = std::min(keys.size(), held.size());
    if (nodes > kMostNodes) return;  // keys are compared
    sl_value* made = sl_value_dict(keys.data(), held.data(), count);
    WANT(!made || sl_value_length(made) <= count);
    keep(made, nodes);
  }

  // Sizes; the bytes of a tensor of them, or -1 where there can be none. False: too many to make.
  bool shape(std::vector<int64_t>* sizes, size_t item, int64_t* needed) {
    sizes->resize(bytes_.below(8));
    bool bad = false, empty = false;
    long double count = 1;
    for (int64_t& n : *sizes) {
      n = bytes_.byte() % 4 ? int64_t(bytes_.below(5)) : bytes_.word();
      bad = bad || n < 0;
      empty = empty || n == 0;
      if (n > 0) count *= static_cast<long double>(n);
    }
    bool fits = count * 16 < 4096;
    *needed = bad ? -1 : empty ? 0 : int64_t(fits ? count : 0) * int64_t(item);
    return bad || empty || fits || count > 2e19L;
  }
  static size_t item_size(int dtype) {
    switch (dtype) {
      case 0:
      case 1:
      case 11: return 1;
      case 2:
      case 5:
      case 15:
      case 27: return 2;
      case 3:
      case 6:
      case 8:
      case 28: return 4;
      case 4:
      case 7:
      case 9:
      case 29: return 8;
      case 10: return 16;
      default: return 0;  // no type, or one of codes
    }
  }
  void tensor() {
    int dtype = bytes_.byte() % 8 ? int(bytes_.below(30)) : int(bytes_.word());
    std::vector<int64_t> sizes;
    int64_t needed;
    if (!shape(&sizes, item_size(dtype), &needed)) return;
    size_t bytes = size_t(std::max<int64_t>(needed, 0));
    char* block = static_cast<char*>(std::malloc(bytes ? bytes : 1));
    std::memset(block, bytes_.byte() % 2, bytes);
    sl_value* made;
    if (bytes_.byte() % 2) {
      made = sl_tensor_copy(block, sl_dtype(dtype), sizes.data(), sizes.size());
      std::free(block);
    } else {
      ++blocks;
      made = sl_tensor_view(block, sl_dtype(dtype), sizes.data(), sizes.size(), end_block, block);
      if (!made) --blocks, std::free(block);
    }
    WANT(needed >= 0 || !made);
    WANT(item_size(dtype) || !made);
    keep(made);
  }
  void strided() {
    int dtype = int(bytes_.below(30));
    size_t rank = bytes_.below(7), bytes = bytes_.below(200);
    std::vector<int64_t> sizes(rank), strides(rank);
    for (size_t k = 0; k < rank; ++k) {
      sizes[k] = bytes_.byte() % 4 ? int64_t(bytes_.below(4)) : bytes_.word();
      strides[k] = bytes_.byte() % 4 ? int64_t(bytes_.below(9)) : bytes_.word();
    }
    char* block = static_cast<char*>(std::malloc(bytes ? bytes : 1));
    std::memset(block, bytes_.byte() % 2, bytes);
    ++blocks;
    sl_value* made = sl_tensor_strided(block, bytes, sl_dtype(dtype), sizes.data(), strides.data(),
                                       rank, end_block, block);
    if (!made) --blocks, std::free(block);
    if (made) read_tensor(made);
    keep(made);
  }

  void parts() {
    Held held = any();
    size_t index = bytes_.byte() % 4 ? bytes_.below(6) : size_t(bytes_.word());
    switch (bytes_.below(4)) {
      case 0: return keep(sl_value_item(held.value, index), held.nodes);
      case 1: return keep(sl_value_key(held.value, index), held.nodes);
      case 2: {
        const char* field = sl_value_field(held.value, index);
        if (field) keep(sl_value_member(held.value, field), held.nodes);
        return;
      }
      default: WANT(sl_value_class(held.value) != nullptr);
    }
  }
  void print() {
    Held held = any();
    if (held.nodes > kMostNodes) return;
    char* text = nullptr;
    size_t size = 0;
    sl_status status = sl_value_text(held.value, &text, &size);
    WANT((status == SL_OK) == (text != nullptr) && (!text || text[size] == 0));
    sl_text_release(text);
  }
  void read(const sl_value* v) {
    int truth;
    int64_t number;
    double real, imaginary;
    const char* text;
    size_t size;
    sl_kind kind = sl_value_kind(v);
    WANT(kind >= SL_NONE && kind <= SL_FUTURE);
    WANT((sl_value_get_bool(v, &truth) == SL_OK) == (kind == SL_BOOL));
    WANT((sl_value_get_int(v, &number) == SL_OK) == (kind == SL_INT));
    bool is_real = kind == SL_INT || kind == SL_DOUBLE;
    WANT((sl_value_get_double(v, &real) == SL_OK) == is_real);
    bool is_number = is_real || kind == SL_COMPLEX;
    WANT((sl_value_get_complex(v, &real, &imaginary) == SL_OK) == is_number);
    WANT((sl_value_get_string(v, &text, &size) == SL_OK) == (kind == SL_STRING));
  }
  void read_tensor(const sl_value* v) {
    sl_dtype dtype;
    size_t ndim;
    const int64_t *sizes, *strides;
    if (sl_tensor_info(v, &dtype, &ndim, &sizes, &strides) != SL_OK) return;
    int64_t count = 1;
    for (size_t k = 0; k < ndim; ++k) count *= sizes[k];
    if (count > 1 << 16) return;  // expanded
    sl_value* plain = sl_tensor_contiguous(v);
    if (!plain) return;  // the allocator refused
    const unsigned char* at = static_cast<const unsigned char*>(sl_tensor_data(plain));
    unsigned sum = 0;
    for (int64_t k = 0; k < count * int64_t(item_size(dtype)); ++k) sum += at[k];
    WANT(sum < ~0u);
    sl_value_release(plain);
  }
  void attribute() {
    static const char* const kNames[] = {"weights", "name", "calls", "layer", "none", ""};
    sl_value* value = nullptr;
    sl_status status = sl_module_attribute(module_, kNames[bytes_.below(6)], &value, nullptr);
    WANT((status == SL_OK) == (value != nullptr));
    if (value) keep(value);
  }

  // ---- containers, modules and tensors as they are

  // False where too many values would be printed or compared.
  static bool is_small(const Held& a, const Held& b) { return a.nodes + b.nodes < kMostNodes; }

  void change_container() {
    size_t at = values_.empty() ? 0 : bytes_.below(values_.size());
    Held none{nullptr, 1}, &whole = values_.empty() ? none : values_[at];
    Held key = any(), held = any();
    size_t index = bytes_.byte() % 4 ? bytes_.below(6) : size_t(bytes_.word());
    if (!is_small(whole, key) || !is_small(whole, held)) return;
    sl_kind kind = sl_value_kind(whole.value);
    sl_value *a = nullptr, *b = nullptr;
    sl_status status = SL_OK;
    const int64_t* ints;
    const double* doubles;
    size_t cursor = bytes_.below(8), count;
    bool is_dict = false;
    whole.nodes += held.nodes;  // it may hold it from now on
    switch (bytes_.below(9)) {
      case 0: status = sl_dict_get(whole.value, key.value, &a), is_dict = true; break;
      case 1: status = sl_dict_set(whole.value, key.value, held.value), is_dict = true; break;
      case 2: status = sl_dict_remove(whole.value, key.value), is_dict = true; break;
      case 3: status = sl_dict_next(whole.value, &cursor, &a, &b), is_dict = true; break;
      case 4: status = sl_list_set(whole.value, index, held.value); break;
      case 5: status = sl_list_append(whole.value, held.value); break;
      case 6: status = sl_list_remove(whole.value, index); break;
      case 7:
        status = sl_list_ints(whole.value, &ints, &count);
        WANT(status != SL_OK || count == sl_value_length(whole.value));
        break;
      default:
        status = sl_list_doubles(whole.value, &doubles, &count);
        WANT(status != SL_OK || count == sl_value_length(whole.value));
    }
    WANT(status != SL_OK || kind == (is_dict ? SL_DICT : SL_LIST));
    double nodes = whole.nodes;
    if (a) keep(a, nodes);
    if (b) keep(b, nodes);
  }

  const char* name() {
    static const char* const kNames[] = {"weights",
                                         "name",
                                         "calls",
                                         "layer",
                                         "none",
                                         "",
                                         "table",
                                         "steps",
                                         "limit",
                                         "favourite",
                                         "owned",
                                         "owned.count",
                                         "block.inner.0.weight",
                                         "block.keeper",
                                         "block.keeper.numbers",
                                         "block",
                                         ".",
                                         "block..inner",
                                         "training",
                                         "tied",
                                         "block.inner.1.num_batches_tracked"};
    return kNames[bytes_.below(sizeof kNames / sizeof *kNames)];
  }
  static void told(sl_status status, sl_error* error) {
    WANT((status == SL_OK) == (error == nullptr));
    WANT(!error || (sl_error_status(error) == status && sl_error_message(error)[0]));
    sl_error_release(error);
  }

  void change_module() {
    static const sl_dtype kTypes[] = {SL_FLOAT32,   SL_FLOAT64, SL_FLOAT16, SL_BFLOAT16,
                                      SL_COMPLEX64, SL_INT8,    SL_QINT8,   SL_COMPLEX32};
    sl_error* error = nullptr;
    sl_status status;
    switch (bytes_.below(4)) {
      case 0: status = sl_module_train(module_, bytes_.byte() % 2, &error); break;
      case 1: status = sl_module_to(module_, kTypes[bytes_.below(8)], &error); break;
      default: {
        const char* at = name();
        status = sl_module_set_attribute(module_, at, any().value, &error);
      }
    }
    told(status, error);
  }

  void look_at_module() {
    sl_error* error = nullptr;
    sl_value* dict = nullptr;
    char* text = nullptr;
    size_t size = 0;
    sl_signature* signature = nullptr;
    const char* method = sl_module_method_name(module_, bytes_.below(60));
    switch (bytes_.below(4)) {
      case 0: {
        int what = int(bytes_.below(7));
        sl_status status =
            sl_module_list(module_, sl_listing(what), bytes_.byte() % 2, &dict, &error);
        told(status, error);
        WANT((status == SL_OK) == (dict != nullptr));
        if (dict) keep(dict, 1000);
        return;
      }
      case 1:
        WANT((sl_module_text(module_, &text, &size) == SL_OK) == (text != nullptr));
        WANT(!text || std::strlen(text) <= size);
        return sl_text_release(text);
      case 2: {
        sl_status status = sl_module_signature(module_, method ? method : "?", &signature, &error);
        told(status, error);
        for (size_t k = 0; k <= sl_signature_argument_count(signature); ++k) {
          sl_value_release(sl_signature_argument_default(signature, k));
        }
        return sl_signature_release(signature);
      }
      default: WANT(sl_module_has_method(module_, method ? method : "?") == (method != nullptr));
    }
  }

  // The calls go on with another module: a part of this, a copy, or what was saved of it.
  void other_module() {
    sl_module* other = nullptr;
    sl_error* error = nullptr;
    sl_status status = SL_OK;
    switch (bytes_.below(4)) {
      case 0: status = sl_module_child(module_, name(), &other, &error); break;
      case 1: status = sl_module_of(module_, any().value, &other, &error); break;
      case 2: status = sl_module_clone(module_, &other, &error); break;
      default: {
        std::string bytes;
        status = sl_save_stream(module_, add_to, &bytes, nullptr, 0, &error);
        if (status == SL_OK) {
          sl_status loaded = sl_load_memory(bytes.data(), bytes.size(), &other, &error);
          WANT(loaded == SL_OK || loaded == SL_OUT_OF_MEMORY);
          status = loaded;
        }
      }
    }
    told(status, error);
    WANT((status == SL_OK) == (other != nullptr));
    if (!other) return;
    if (bytes_.byte() % 2) std::swap(other, module_);
    sl_module_release(other);
  }
  static int add_to(const void* data, size_t size, void* user) {
    static_cast<std::string*>(user)->append(static_cast<const char*>(data), size);
    return 0;
  }

  void make_object() {
    static const char* const kClasses[] = {"__torch__.Counter", "__torch__.Color",
                                           "__torch__.Client", "?"};
    const char* cls = kClasses[bytes_.below(4)];
    sl_value *made = nullptr, *given = any().value;
    sl_error* error = nullptr;
    bool is_enum = bytes_.byte() % 2;
    sl_status status = is_enum ? sl_module_enum(module_, cls, "BLUE", &made, &error)
                               : sl_module_make(module_, cls, &given, 1, nullptr, &made, &error);
    told(status, error);
    WANT((status == SL_OK) == (made != nullptr));
    if (made) keep(made, 10);
  }

  void share() {
    Held held = any();
    if (bytes_.byte() % 4) return keep(sl_value_share(held.value), held.nodes);
    // A schema that is damaged somewhere.
    std::string schema = "fuzz::op(Tensor(a!)? x, int[2] k=[1, 2], str s=\"a\") -> (Tensor, int)";
    for (size_t k = bytes_.below(4); k > 0; --k) {
      const size_t at = bytes_.byte() % schema.size();
      schema[at] = char(bytes_.byte());
    }
    sl_error* error = nullptr;
    sl_status status = sl_register_operator(
        schema.c_str(),
        [](void*, sl_value* const*, size_t, sl_value**, size_t, sl_error** out) {
          *out = sl_error_make("ValueError", "never called");
          return SL_RUN_ERROR;
        },
        nullptr, &error);
    told(status, error);
  }

  void convert_tensor() {
    Held one = any(), other = any();
    sl_dtype dtype = sl_dtype(bytes_.below(30));
    size_t ndim = 0;
    const int64_t* sizes = nullptr;
    int64_t count = 1;
    sl_tensor_info(one.value, nullptr, &ndim, &sizes, nullptr);
    for (size_t k = 0; k < ndim; ++k) count *= sizes[k];
    if (count > 1 << 16) return;  // expanded
    switch (bytes_.below(4)) {
      case 0: return keep(sl_tensor_to(one.value, dtype));
      case 1: {
        std::vector<char> memory(size_t(count) * item_size(int(dtype)) + bytes_.below(2));
        sl_tensor_read(one.value, dtype, memory.data(), memory.size());
        return;
      }
      case 2: sl_tensor_assign(one.value, other.value); return;
      default: {
        DLManagedTensor* managed = nullptr;
        sl_value* back = nullptr;
        if (sl_tensor_to_dlpack(one.value, &managed, nullptr) != SL_OK) return;
        sl_status status = sl_tensor_from_dlpack(managed, &back, nullptr);
        WANT(status == SL_OK && back);
        keep(back);
      }
    }
  }

  void settings() {
    switch (bytes_.below(6)) {
      case 0:
        asked = 0;
        refuse_at = 1 + int64_t(bytes_.below(6));
        WANT(sl_set_allocator(&kHook) == SL_OK);
        return;
      case 1: WANT(sl_set_allocator(nullptr) == SL_OK); return;
      case 2: sl_set_threads(1 + int(bytes_.below(2))); return;
      case 3:  // what came from it lives on
        sl_module_release(module_);
        return load();
      default: {
        std::string changed = archive_;
        for (size_t k = 0; k <= bytes_.below(3); ++k) {
          size_t at = size_t(bytes_.byte()) << 8 | bytes_.byte();
          changed[at % changed.size()] = char(bytes_.byte());
        }
        sl_module* other = nullptr;
        sl_error* error = nullptr;
        sl_status status = sl_load_memory(changed.data(), changed.size(), &other, &error);
        WANT((status == SL_OK) == (other != nullptr) && (status == SL_OK) == (error == nullptr));
        sl_error_release(error);
        sl_module_release(other);
      }
    }
  }
  void call() {
    static const char* const kNames[] = {"x", "n", "c", "a", "f", "g", "self", "?"};
    double nodes = 1;
    size_t methods = sl_module_method_count(module_);
    const char* method = sl_module_method_name(module_, bytes_.below(methods));
    std::vector<sl_value*> given = some(3, &nodes), named;
    std::vector<const char*> names;
    if (bytes_.byte() % 4 == 0) named = some(2, &nodes);
    for (size_t k = 0; k < named.size(); ++k) names.push_back(kNames[bytes_.below(8)]);
    sl_limits limits = {};
    limits.size = sizeof limits;
    limits.instructions = 5000;
    limits.memory_bytes = bytes_.byte() % 2 ? 1 << 20 : 2000;
    limits.depth = 50;
    sl_value* result = nullptr;
    sl_error* error = nullptr;
    sl_status status = sl_call_named(module_, method, given.data(), given.size(), names.data(),
                                     named.data(), named.size(), &limits, &result, &error);
    WANT((status == SL_OK) == (result != nullptr) && (status == SL_OK) == (error == nullptr));
    if (error) {
      WANT(sl_error_status(error) == status && sl_error_message(error)[0]);
      WANT(sl_error_class(error)[0] && sl_error_stack(error));
      sl_error_release(error);
    }
    if (result) keep(result, nodes * 2 + 1000);
  }

  Bytes bytes_;
  const std::string& archive_;
  sl_module* module_ = nullptr;
  std::vector<Held> values_;
};

}  // namespace

void run_calls(const uint8_t* data, size_t size, const std::string& archive) {
  sl_set_print([](const char*, size_t, void*) {}, nullptr);
  { Calls(Bytes(data, size), archive).run(); }
  sl_set_allocator(nullptr);
  sl_set_threads(1);
  WANT(blocks == 0 && hooked == 0);
}

}  // namespace fuzz
