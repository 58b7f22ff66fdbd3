// Lists: elements, slices, in-place changes, searching, sorting.
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "values/type.h"
#include "op.h"
#include "pointwise.h"
#include "scalar_math.h"

namespace scriptlang {

namespace {

using Kind = List::Kind;

// Wraps a Python index into [0, size); raises IndexError outside.
size_t index_in(int64_t index, size_t size) {
  int64_t at = index < 0 ? index + int64_t(size) : index;
  if (at < 0 || at >= int64_t(size)) raise(ErrorKind::IndexError, "list index out of range");
  return size_t(at);
}

Ref<List> copy_of(const List& list) { return list.slice(0, 1, list.size()); }

Value repeated(const List& list, int64_t times) {
  Ref<List> out = List::like(list);
  if (times <= 0 || list.empty()) return out;
  int64_t total;
  if (__builtin_mul_overflow(int64_t(list.size()), times, &total) || total > int64_t(1) << 40) {
    raise(ErrorKind::MemoryError, "a list of ", list.size(), " elements, ", times, " times");
  }
  out->reserve(as_size(total));
  for (int64_t k = 0; k < times; ++k) out->extend(list);
  return out;
}

// The index of the first equal element; size() when there is none.
size_t find(const List& list, const Value& wanted) {
  size_t count = list.size();
  if (list.kind() == Kind::Ints && wanted.is_int()) {
    return size_t(std::find(list.ints(), list.ints() + count, wanted.raw_int()) - list.ints());
  }
  if (list.kind() == Kind::Floats && wanted.is_double()) {
    double number = wanted.raw_double();
    return size_t(std::find(list.floats(), list.floats() + count, number) - list.floats());
  }
  for (size_t k = 0; k < count; ++k) {
    if (equal(list.get(k), wanted)) return k;
  }
  return count;
}

// Compares two values: negative, zero or positive. Unordered numbers (NaN) count as equal.
int order(const Value& a, const Value& b, int depth) {
  if (a.is_string() && b.is_string()) return a.as_string().compare(b.as_string());
  if (a.is_tuple() && b.is_tuple()) {
    if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
    const Tuple::Items &x = a.as_tuple().items, &y = b.as_tuple().items;
    for (size_t k = 0; k < x.size() && k < y.size(); ++k) {
      if (int first = order(x[k], y[k], depth + 1)) return first;
    }
    return x.size() < y.size() ? -1 : x.size() > y.size();
  }
  if (a.is_object() || a.is_tensor() || a.is_list() || a.is_dict() || a.is_none()) {
    raise(ErrorKind::RuntimeError, "values of type ", tag_name(a.tag()), " cannot be sorted");
  }
  auto compare = [](auto x, auto y) { return x < y ? -1 : y < x; };
  if (a.is_int() && b.is_int()) return compare(a.raw_int(), b.raw_int());
  return compare(Scalar::of(a).d, Scalar::of(b).d);
}

// Scratch memory for `count` items: on the stack for a few, else on the heap.
template <class T>
class Room {
 public:
  explicit Room(size_t count) : far_(count > kNear ? new T[count] : nullptr) {}
  T* data() { return far_ ? far_.get() : reinterpret_cast<T*>(near_); }

 private:
  static constexpr size_t kNear = 64;
  std::unique_ptr<T[]> far_;
  alignas(T) char near_[kNear * sizeof(T)];
};

// Bottom-up merge sort. Unlike std::sort, it is safe if the order is not strict (NaN).
template <class T, class Before>
void merge_sort(T* items, size_t count, const Before& before) {
  Room<T> buffer(count);
  T *from = items, *into = buffer.data();
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      size_t middle = std::min(begin + width, count), end = std::min(begin + 2 * width, count);
      size_t left = begin, right = middle, to = begin;
      while (left < middle && right < end) {
        into[to++] = before(from[right], from[left]) ? from[right++] : from[left++];
      }
      while (left < middle) into[to++] = from[left++];
      while (right < end) into[to++] = from[right++];
    }
    std::swap(from, into);
  }
  if (from != items) std::copy_n(from, count, items);
}

// A key with the order of the values; values with equal keys must be compared themselves.
struct Keyed {
  uint64_t key;
  const Value* value;
};
bool find_key(const Value& v, uint64_t* key) {
  constexpr uint64_t kSign = uint64_t(1) << 63;
  if (v.is_int()) {
    *key = uint64_t(v.raw_int()) ^ kSign;
  } else if (v.is_double()) {
    uint64_t bits = v.raw_double() == 0 ? 0 : v.bits();
    *key = bits & kSign ? ~bits : bits | kSign;
    return v.raw_double() == v.raw_double();
  } else if (v.is_string()) {
    std::string_view text = v.as_string();
    *key = 0;
    for (size_t k = 0; k < 8; ++k) {
      *key = *key << 8 | (k < text.size() ? static_cast<unsigned char>(text[k]) : 0);
    }
  } else {
    return false;
  }
  return true;
}

// Sets keys from the values, or from the first items of tuples. Where these are not all of one
// kind, all keys stay equal.
void find_keys(const Value* first, Keyed* items, size_t count) {
  auto leading = [](const Value& v) {
    bool lies_in = v.is_tuple() && !v.as_tuple().items.empty();
    return lies_in ? &v.as_tuple().items[0] : &v;
  };
  bool keyed = true;
  for (size_t k = 0; k < count; ++k) {
    items[k] = {0, first + k};
    const Value& lead = *leading(first[k]);
    keyed = keyed && first[k].tag() == first[0].tag() && lead.tag() == leading(first[0])->tag() &&
            find_key(lead, &items[k].key);
  }
  for (size_t k = 0; k < count && !keyed; ++k) items[k].key = 0;
}

// Sorts the values; if a comparison raises, the list is unchanged.
void sort_values(Value* first, size_t count, bool reverse) {
  Room<Keyed> room(count);
  Keyed* items = room.data();
  find_keys(first, items, count);
  merge_sort(items, count, [reverse](const Keyed& a, const Keyed& b) {
    if (a.key != b.key) return (a.key < b.key) != reverse;
    return reverse ? order(*b.value, *a.value, 0) < 0 : order(*a.value, *b.value, 0) < 0;
  });
  static_assert(sizeof(Keyed) == sizeof(Value), "values are moved to where their keys were");
  for (size_t k = 0; k < count; ++k) {
    const void* from = items[k].value;
    std::memcpy(static_cast<void*>(items + k), from, sizeof(Value));
  }
  std::memcpy(static_cast<void*>(first), items, count * sizeof(Value));
}

void sort_list(List& list, bool reverse) {
  list.visit([&](auto* first) {
    using T = std::remove_reference_t<decltype(*first)>;
    size_t count = list.size();
    if constexpr (std::is_same_v<T, Value>) {
      if (count > 1) sort_values(first, count, reverse);
    } else if constexpr (std::is_same_v<T, double>) {
      merge_sort(first, count, [reverse](T a, T b) { return reverse ? b < a : a < b; });
    } else {
      std::sort(first, first + count, [reverse](T a, T b) { return reverse ? b < a : a < b; });
    }
  });
}

Ref<List> sorted(const List& list, bool reverse) {
  Ref<List> copy = copy_of(list);
  sort_list(*copy, reverse);
  return copy;
}

}  // namespace

SL_OP(aten_len_t) { out[0].set_int(int64_t(args.list(0).size())); }
SL_OP(aten_len_any) { out[0].set_int(int64_t(args.list(0).size())); }
SL_OP(aten___getitem___t) {
  const List& list = args.list(0);
  out[0] = list.get(index_in(args.integer(1), list.size()));
}
SL_OP(aten_select_t) { op_aten___getitem___t(ctx, args, out); }
SL_OP(aten__set_item_t) {
  List& list = args.list(0);
  list.set(index_in(args.integer(1), list.size()), std::move(args[2]));
  out[0] = std::move(args[0]);
}

SL_OP(aten_append_t) {
  args.list(0).push(std::move(args[1]));
  out[0] = std::move(args[0]);
}
SL_OP(aten_extend_t) { args.list(0).extend(args.list(1)); }
SL_OP(aten_insert_t) {
  List& list = args.list(0);
  int64_t size = int64_t(list.size()), at = args.integer(1);
  at = std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  list.insert(size_t(at), std::move(args[2]));
}
SL_OP(aten_pop_t) {
  List& list = args.list(0);
  if (list.empty()) raise(ErrorKind::IndexError, "pop from empty list");
  out[0] = list.take(index_in(args.integer(1), list.size()));
}
SL_OP(aten_Delete_t) {
  List& list = args.list(0);
  list.take(index_in(args.integer(1), list.size()));
}
SL_OP(aten_clear_t) { args.list(0).clear(); }
SL_OP(aten_reverse_t) { args.list(0).reverse(); }
SL_OP(aten_copy_t) { out[0] = copy_of(args.list(0)); }
SL_OP(aten_list_t) { out[0] = copy_of(args.list(0)); }

SL_OP(aten_add_t) {
  const List &first = args.list(0), &second = args.list(1);
  Ref<List> sum = List::like(first.empty() ? second : first);
  sum->element = first.element;
  sum->reserve(first.size() + second.size());
  sum->extend(first);
  sum->extend(second);
  out[0] = std::move(sum);
}
SL_OP(aten_add__t) {
  op_aten_extend_t(ctx, args, out);
  out[0] = std::move(args[0]);
}
SL_OP(aten_mul_left_t) { out[0] = repeated(args.list(0), args.integer(1)); }
SL_OP(aten_mul_right_) { out[0] = repeated(args.list(1), args.integer(0)); }
SL_OP(aten_mul__t) {
  Value made = repeated(args.list(0), args.integer(1));
  args.list(0).swap(made.as_list());
  out[0] = std::move(args[0]);
}

SL_OP(aten_slice_t) {
  const List& list = args.list(0);
  int64_t size = int64_t(list.size()), step = args.integer(3);
  if (step == 0) raise(ErrorKind::RuntimeError, "List slice should have non-zero step");
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  auto clamp = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
  int64_t start = args.none(1) ? (step > 0 ? low : high) : clamp(args.integer(1));
  int64_t end = args.none(2) ? (step > 0 ? high : low) : clamp(args.integer(2));
  int64_t count = scalars::range_length(start, end, step);
  out[0] = list.slice(start, step, size_t(count));
}

// ---- searching

#define SL_CONTAINS(symbol) \
  SL_OP(symbol) { out[0].set_bool(find(args.list(0), args[1]) != args.list(0).size()); }
SL_CONTAINS(aten___contains___int_list)
SL_CONTAINS(aten___contains___str_list)
SL_CONTAINS(aten___contains___float_list)

#define SL_FAMILY_SEARCH(name)                                                              \
  SL_OP(aten_index_list_##name) {                                                           \
    size_t at = find(args.list(0), args[1]);                                                \
    if (at == args.list(0).size()) {                                                        \
      raise(ErrorKind::RuntimeError, "'", to_text(args[1]), "' is not in list");            \
    }                                                                                       \
    out[0].set_int(int64_t(at));                                                            \
  }                                                                                         \
  SL_OP(aten_remove_##name) {                                                               \
    List& list = args.list(0);                                                              \
    size_t at = find(list, args[1]);                                                        \
    if (at == list.size()) raise(ErrorKind::RuntimeError, "list.remove(x): x not in list"); \
    list.take(at);                                                                          \
  }                                                                                         \
  SL_OP(aten_count_##name) {                                                                \
    int64_t count = 0;                                                                      \
    for (const Value& item : args.list(0)) count += equal(item, args[1]);                   \
    out[0].set_int(count);                                                                  \
  }
SL_FAMILY_SEARCH(int)
SL_FAMILY_SEARCH(float)
SL_FAMILY_SEARCH(bool)
SL_FAMILY_SEARCH(str)

// Lists of tensors: elements are equal when eq returns a tensor that is true as a bool.

namespace {
bool equal_tensors(const Value& a, const Value& b) {
  Tensor same =
      binary_result(a.as_tensor(), b.as_tensor(), kernels::Binary::k_eq, "eq", Rule::kToBool);
  SL_CHECK(same.numel() == 1, "Boolean value of Tensor with ",
           same.numel() ? "more than one" : "no", " value", same.numel() ? "" : "s",
           " is ambiguous");
  return *same.data<bool>();
}
size_t find_tensor(const List& list, const Value& wanted) {
  for (size_t k = 0; k < list.size(); ++k) {
    if (equal_tensors(list.get(k), wanted)) return k;
  }
  return list.size();
}
bool equal_lists(const List& a, const List& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    if (!equal_tensors(a.get(k), b.get(k))) return false;
  }
  return true;
}
Ref<List> sorted_tensors(const List& list, bool reverse) {
  std::vector<std::pair<double, Value>> keyed;
  for (const Value& v : list) {
    SL_CHECK(!is_complex(v.as_tensor().dtype()) || list.size() == 1,
             "complex numbers have no order");
    SL_CHECK(v.as_tensor().numel() == 1 || list.size() == 1,
             "Boolean value of Tensor with more "
             "than one value is ambiguous");
    keyed.push_back({list.size() == 1 ? 0 : Scalar::of(v).to_double(), v});
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return reverse ? b.first < a.first : a.first < b.first;
  });
  Ref<List> made = List::like(list);
  for (auto& [key, tensor] : keyed) made->push(std::move(tensor));
  return made;
}
}  // namespace

SL_OP(aten_eq_Tensor_list) { out[0].set_bool(equal_lists(args.list(0), args.list(1))); }
SL_OP(aten_ne_Tensor_list) { out[0].set_bool(!equal_lists(args.list(0), args.list(1))); }
SL_OP(aten_index_list_Tensor) {
  size_t at = find_tensor(args.list(0), args[1]);
  SL_CHECK(at != args.list(0).size(), "'", to_text(args[1]), "' is not in list");
  out[0].set_int(int64_t(at));
}
SL_OP(aten_remove_Tensor) {
  List& list = args.list(0);
  size_t at = find_tensor(list, args[1]);
  SL_CHECK(at != list.size(), "list.remove(x): x not in list");
  list.take(at);
}
SL_OP(aten_count_Tensor) {
  int64_t count = 0;
  for (const Value& item : args.list(0)) count += equal_tensors(item, args[1]);
  out[0].set_int(count);
}

// ---- sorting

SL_OP(aten_sort_Tensor) { args.list(0).swap(*sorted_tensors(args.list(0), args.boolean(1))); }
SL_OP(aten_sorted_Tensor) { out[0] = sorted_tensors(args.list(0), false); }

#define SL_FAMILY_SORT(name)                                                             \
  SL_OP(aten_sort_##name) { args.list(0).swap(*sorted(args.list(0), args.boolean(1))); } \
  SL_OP(aten_sorted_##name) { out[0] = sorted(args.list(0), false); }
SL_FAMILY_SORT(int)
SL_FAMILY_SORT(float)
SL_FAMILY_SORT(bool)
SL_FAMILY_SORT(str)
SL_FAMILY_SORT(any)

// ---- sums

namespace {
bool is_true(const Value& v) {
  return v.is_string() ? !v.as_string().empty() : Scalar::of(v).to_bool();
}
bool any_true(const List& list) {
  for (const Value& v : list) {
    if (is_true(v)) return true;
  }
  return false;
}
bool all_true(const List& list) {
  for (const Value& v : list) {
    if (!is_true(v)) return false;
  }
  return true;
}
}  // namespace

#define SL_ANY(name) \
  SL_OP(aten_any_##name) { out[0].set_bool(any_true(args.list(0))); }
SL_ANY(int)
SL_ANY(float)
SL_ANY(bool)
SL_ANY(str)
#define SL_ALL(name) \
  SL_OP(aten_all_##name) { out[0].set_bool(all_true(args.list(0))); }
SL_ALL(int)
SL_ALL(float)
SL_ALL(bool)

SL_OP(aten_sum_int) {
  uint64_t sum = 0;
  for (const Value& v : args.list(0)) sum += uint64_t(v.as_int());
  out[0].set_int(int64_t(sum));
}
SL_OP(aten_sum_bool) {
  int64_t sum = 0;
  for (const Value& v : args.list(0)) sum += v.as_bool();
  out[0].set_int(sum);
}
SL_OP(aten_sum_float) {
  double sum = 0;
  for (const Value& v : args.list(0)) sum += Scalar::of(v).d;
  out[0].set_double(sum);
}
SL_OP(aten_sum_complex) {
  std::complex<double> sum = 0;
  for (const Value& v : args.list(0)) sum += Scalar::of(v).to_complex();
  out[0] = Value(sum);
}

SL_OP(prim_rangelist) {
  int64_t n = args.integer(0);
  Ref<List> list = List::make();
  list->reserve(as_size(std::max<int64_t>(n, 0)));  // raises at once if memory is short
  for (int64_t k = 0; k < n; ++k) list->push(k);
  out[0] = std::move(list);
}
SL_OP(aten_Size) { out[0] = std::move(args[0]); }

}  // namespace scriptlang
