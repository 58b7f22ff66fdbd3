// Lists: elements, slices, in-place changes, searching, sorting.
#include <algorithm>
#include <limits>

#include "../type.h"
#include "op.h"
#include "pointwise.h"

namespace scriptlang {

namespace {

using Items = std::vector<Value>;

// A Python index into [0, size), or IndexError.
size_t index_in(int64_t index, size_t size) {
  int64_t at = index < 0 ? index + int64_t(size) : index;
  if (at < 0 || at >= int64_t(size)) raise(ErrorKind::IndexError, "list index out of range");
  return size_t(at);
}

Value like(const List& list, Items items) { return List::make(std::move(items), list.element); }

Items concatenated(const Items& a, const Items& b) {
  Items items;
  items.reserve(a.size() + b.size());
  items.insert(items.end(), a.begin(), a.end());
  items.insert(items.end(), b.begin(), b.end());
  return items;
}

Items repeated(const Items& items, int64_t times) {
  Items out;
  if (times <= 0 || items.empty()) return out;
  int64_t total;
  if (__builtin_mul_overflow(int64_t(items.size()), times, &total) ||
      total > int64_t(1) << 40) {
    raise(ErrorKind::MemoryError, "a list of ", items.size(), " elements, ", times, " times");
  }
  memory::charge(total * int64_t(sizeof(Value)));
  memory::uncharge(total * int64_t(sizeof(Value)));
  out.reserve(size_t(total));
  for (int64_t k = 0; k < times; ++k) out.insert(out.end(), items.begin(), items.end());
  return out;
}

size_t find(const Items& items, const Value& wanted) {
  for (size_t k = 0; k < items.size(); ++k) {
    if (equal(items[k], wanted)) return k;
  }
  return items.size();
}

bool less(const Value& a, const Value& b, int depth) {
  if (a.is_string() && b.is_string()) return a.as_string() < b.as_string();
  if (a.is_tuple() && b.is_tuple()) {
    if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
    const Items &x = a.as_tuple().items, &y = b.as_tuple().items;
    for (size_t k = 0; k < x.size() && k < y.size(); ++k) {
      if (less(x[k], y[k], depth + 1)) return true;
      if (less(y[k], x[k], depth + 1)) return false;
    }
    return x.size() < y.size();
  }
  if (a.is_object() || a.is_tensor() || a.is_list() || a.is_dict() || a.is_none()) {
    raise(ErrorKind::RuntimeError, "values of type ", tag_name(a.tag()), " cannot be sorted");
  }
  if (a.is_int() && b.is_int()) return a.raw_int() < b.raw_int();
  return Scalar::of(a).d < Scalar::of(b).d;
}

// Insertion by binary merges: never trusts the order to be strict (NaN), unlike std::sort.
void sort_items(Items* items, bool reverse) {
  auto before = [reverse](const Value& a, const Value& b) {
    return reverse ? less(b, a, 0) : less(a, b, 0);
  };
  Items buffer(items->size());
  for (size_t width = 1; width < items->size(); width *= 2) {
    for (size_t begin = 0; begin < items->size(); begin += 2 * width) {
      size_t middle = std::min(begin + width, items->size());
      size_t end = std::min(begin + 2 * width, items->size());
      size_t left = begin, right = middle, to = begin;
      while (left < middle || right < end) {
        bool take_right =
            left == middle || (right < end && before((*items)[right], (*items)[left]));
        buffer[to++] = std::move((*items)[take_right ? right++ : left++]);
      }
    }
    items->swap(buffer);
  }
}

}  // namespace

SL_OP(aten_len_t) { out[0].set_int(int64_t(args.list(0).items.size())); }
SL_OP(aten_len_any) { out[0].set_int(int64_t(args.list(0).items.size())); }
SL_OP(aten___getitem___t) {
  const Items& items = args.list(0).items;
  out[0] = items[index_in(args.integer(1), items.size())];
}
SL_OP(aten_select_t) { op_aten___getitem___t(ctx, args, out); }
SL_OP(aten__set_item_t) {
  Items& items = args.list(0).items;
  Value old = std::move(items[index_in(args.integer(1), items.size())]);
  items[index_in(args.integer(1), items.size())] = std::move(args[2]);
  out[0] = std::move(args[0]);
}

SL_OP(aten_append_t) {
  List& list = args.list(0);
  list.items.push_back(std::move(args[1]));
  list.charge_growth();
  out[0] = std::move(args[0]);
}
SL_OP(aten_extend_t) {
  List& list = args.list(0);
  Items added = args.list(1).items;  // a copy: a list may extend itself
  list.items.insert(list.items.end(), added.begin(), added.end());
  list.charge_growth();
}
SL_OP(aten_insert_t) {
  List& list = args.list(0);
  int64_t size = int64_t(list.items.size()), at = args.integer(1);
  at = std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  list.items.insert(list.items.begin() + at, std::move(args[2]));
  list.charge_growth();
}
SL_OP(aten_pop_t) {
  Items& items = args.list(0).items;
  if (items.empty()) raise(ErrorKind::IndexError, "pop from empty list");
  size_t at = index_in(args.integer(1), items.size());
  out[0] = std::move(items[at]);
  items.erase(items.begin() + long(at));
}
SL_OP(aten_Delete_t) {
  Items& items = args.list(0).items;
  items.erase(items.begin() + long(index_in(args.integer(1), items.size())));
}
SL_OP(aten_clear_t) { Items dead = std::move(args.list(0).items); }
SL_OP(aten_reverse_t) {
  Items& items = args.list(0).items;
  std::reverse(items.begin(), items.end());
}
SL_OP(aten_copy_t) { out[0] = like(args.list(0), args.list(0).items); }
SL_OP(aten_list_t) { out[0] = like(args.list(0), args.list(0).items); }

SL_OP(aten_add_t) {
  out[0] = like(args.list(0), concatenated(args.list(0).items, args.list(1).items));
}
SL_OP(aten_add__t) {
  op_aten_extend_t(ctx, args, out);
  out[0] = std::move(args[0]);
}
SL_OP(aten_mul_left_t) {
  out[0] = like(args.list(0), repeated(args.list(0).items, args.integer(1)));
}
SL_OP(aten_mul_right_) {
  out[0] = like(args.list(1), repeated(args.list(1).items, args.integer(0)));
}
SL_OP(aten_mul__t) {
  List& list = args.list(0);
  list.items = repeated(list.items, args.integer(1));
  list.charge_growth();
  out[0] = std::move(args[0]);
}

SL_OP(aten_slice_t) {
  const Items& items = args.list(0).items;
  int64_t size = int64_t(items.size()), step = args.integer(3);
  if (step == 0) raise(ErrorKind::RuntimeError, "slice step cannot be zero");
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  auto clamp = [&](int64_t at) {
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  int64_t start = args.none(1) ? (step > 0 ? low : high) : clamp(args.integer(1));
  int64_t end = args.none(2) ? (step > 0 ? high : low) : clamp(args.integer(2));
  Items taken;
  for (int64_t at = start; step > 0 ? at < end : at > end;) {
    taken.push_back(items[size_t(at)]);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  out[0] = like(args.list(0), std::move(taken));
}

// ---- searching

#define SL_CONTAINS(symbol) \
  SL_OP(symbol) {           \
    const Items& items = args.list(0).items;                    \
    out[0].set_bool(find(items, args[1]) != items.size());      \
  }
SL_CONTAINS(aten___contains___int_list)
SL_CONTAINS(aten___contains___str_list)
SL_CONTAINS(aten___contains___float_list)

#define SL_FAMILY_SEARCH(name)                                                                  \
  SL_OP(aten_index_list_##name) {                                                               \
    const Items& items = args.list(0).items;                                                    \
    size_t at = find(items, args[1]);                                                           \
    if (at == items.size()) {                                                                   \
      raise(ErrorKind::RuntimeError, "'", to_text(args[1]), "' is not in list");                \
    }                                                                                           \
    out[0].set_int(int64_t(at));                                                                \
  }                                                                                             \
  SL_OP(aten_remove_##name) {                                                                   \
    Items& items = args.list(0).items;                                                          \
    size_t at = find(items, args[1]);                                                           \
    if (at == items.size()) raise(ErrorKind::RuntimeError, "list.remove(x): x not in list");    \
    items.erase(items.begin() + long(at));                                                      \
  }                                                                                             \
  SL_OP(aten_count_##name) {                                                                    \
    const Items& items = args.list(0).items;                                                    \
    out[0].set_int(std::count_if(items.begin(), items.end(),                                    \
                                 [&](const Value& v) { return equal(v, args[1]); }));           \
  }
SL_FAMILY_SEARCH(int)
SL_FAMILY_SEARCH(float)
SL_FAMILY_SEARCH(bool)
SL_FAMILY_SEARCH(str)

// Lists of tensors: elements are equal when eq gives a tensor that is true as a whole.

namespace {
bool equal_tensors(const Value& a, const Value& b) {
  Tensor same = binary_result(a.as_tensor(), b.as_tensor(), kernels::Binary::k_eq, "eq",
                              Rule::kToBool);
  SL_CHECK(same.numel() == 1, "Boolean value of Tensor with ", same.numel() ? "more than one" : "no",
           " value", same.numel() ? "" : "s", " is ambiguous");
  return *same.data<bool>();
}
size_t find_tensor(const Items& items, const Value& wanted) {
  for (size_t k = 0; k < items.size(); ++k) {
    if (equal_tensors(items[k], wanted)) return k;
  }
  return items.size();
}
bool equal_lists(const Items& a, const Items& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    if (!equal_tensors(a[k], b[k])) return false;
  }
  return true;
}
void sort_tensors(Items* items, bool reverse) {
  std::vector<std::pair<double, Value>> keyed;
  for (const Value& v : *items) {
    SL_CHECK(v.as_tensor().numel() == 1, "Boolean value of Tensor with more than one value is "
             "ambiguous");
    keyed.push_back({Scalar::of(v).to_double(), v});
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return reverse ? b.first < a.first : a.first < b.first;
  });
  for (size_t k = 0; k < keyed.size(); ++k) (*items)[k] = std::move(keyed[k].second);
}
}  // namespace

SL_OP(aten_eq_Tensor_list) {
  out[0].set_bool(equal_lists(args.list(0).items, args.list(1).items));
}
SL_OP(aten_ne_Tensor_list) {
  out[0].set_bool(!equal_lists(args.list(0).items, args.list(1).items));
}
SL_OP(aten_index_list_Tensor) {
  size_t at = find_tensor(args.list(0).items, args[1]);
  SL_CHECK(at != args.list(0).items.size(), "'", to_text(args[1]), "' is not in list");
  out[0].set_int(int64_t(at));
}
SL_OP(aten_remove_Tensor) {
  Items& items = args.list(0).items;
  size_t at = find_tensor(items, args[1]);
  SL_CHECK(at != items.size(), "list.remove(x): x not in list");
  items.erase(items.begin() + long(at));
}
SL_OP(aten_count_Tensor) {
  const Items& items = args.list(0).items;
  out[0].set_int(std::count_if(items.begin(), items.end(),
                               [&](const Value& v) { return equal_tensors(v, args[1]); }));
}

// ---- sorting

SL_OP(aten_sort_Tensor) {
  Items items = args.list(0).items;
  sort_tensors(&items, args.boolean(1));
  args.list(0).items = std::move(items);
}
SL_OP(aten_sorted_Tensor) {
  Items items = args.list(0).items;
  sort_tensors(&items, false);
  out[0] = like(args.list(0), std::move(items));
}

#define SL_FAMILY_SORT(name)                                          \
  SL_OP(aten_sort_##name) {                                           \
    Items items = args.list(0).items;                                 \
    sort_items(&items, args.boolean(1));                              \
    args.list(0).items = std::move(items);                            \
  }                                                                   \
  SL_OP(aten_sorted_##name) {                                         \
    Items items = args.list(0).items;                                 \
    sort_items(&items, false);                                        \
    out[0] = like(args.list(0), std::move(items));                    \
  }
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
}  // namespace

#define SL_ANY_ALL(name)                                                              \
  SL_OP(aten_any_##name) {                                                            \
    const Items& items = args.list(0).items;                                          \
    out[0].set_bool(std::any_of(items.begin(), items.end(), is_true));                \
  }
SL_ANY_ALL(int)
SL_ANY_ALL(float)
SL_ANY_ALL(bool)
SL_ANY_ALL(str)
#define SL_ALL(name)                                                                  \
  SL_OP(aten_all_##name) {                                                            \
    const Items& items = args.list(0).items;                                          \
    out[0].set_bool(std::all_of(items.begin(), items.end(), is_true));                \
  }
SL_ALL(int)
SL_ALL(float)
SL_ALL(bool)

SL_OP(aten_sum_int) {
  uint64_t sum = 0;
  for (const Value& v : args.list(0).items) sum += uint64_t(v.as_int());
  out[0].set_int(int64_t(sum));
}
SL_OP(aten_sum_bool) {
  int64_t sum = 0;
  for (const Value& v : args.list(0).items) sum += v.as_bool();
  out[0].set_int(sum);
}
SL_OP(aten_sum_float) {
  double sum = 0;
  for (const Value& v : args.list(0).items) sum += Scalar::of(v).d;
  out[0].set_double(sum);
}
SL_OP(aten_sum_complex) {
  std::complex<double> sum = 0;
  for (const Value& v : args.list(0).items) sum += Scalar::of(v).to_complex();
  out[0] = Value(sum);
}

}  // namespace scriptlang
