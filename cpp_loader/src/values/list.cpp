// Lists: storage without tags for numbers, growth, conversion to values.
#include "list.h"

#include <algorithm>

#include "small_blocks.h"
#include "type.h"

namespace scriptlang {

namespace {

constexpr size_t kLargestSmall = memory::quick::kSmallStep * (memory::quick::kSmallClasses - 1);
constexpr size_t kPushedRoom = 128;  // the least capacity of a list that grows by push

List::Kind kind_of(Tag tag) {
  switch (tag) {
    case Tag::Int: return List::Kind::Ints;
    case Tag::Double: return List::Kind::Floats;
    case Tag::Bool: return List::Kind::Bools;
    default: return List::Kind::Values;
  }
}

void* take_room(size_t bytes) {
  memory::quick::charge(int64_t(bytes));
  try {
    return bytes <= kLargestSmall ? memory::quick::take_small(bytes) : memory::take(bytes);
  } catch (...) {
    memory::quick::uncharge(int64_t(bytes));
    throw;
  }
}

void give_room(void* room, size_t bytes) noexcept {
  if (!room) return;
  if (bytes <= kLargestSmall) {
    memory::quick::give_small(room, bytes);
  } else {
    memory::give(room, bytes);
  }
  memory::quick::uncharge(int64_t(bytes));
}

}  // namespace

Ref<List> List::make(std::vector<Value> items, TypeRef element) {
  Tag kind = items.empty() ? Tag::None : items[0].tag();
  Ref<List> list = with_room(items.size(), kind, std::move(element));
  for (Value& item : items) list->push(std::move(item));
  return list;
}

Ref<List> List::with_room(size_t count, Tag kind, TypeRef element) {
  Ref<List> list = List::make(nullptr, 0, std::move(element));
  list->kind_ = kind_of(kind);
  list->reserve(count);
  return list;
}

Ref<List> List::make(const int64_t* ints, size_t count, TypeRef element) {
  memory::quick::charge(int64_t(sizeof(List)));
  Ref<List> list(::new (memory::quick::take_small(sizeof(List))) List);
  list->make_thread_local(memory::quick::runs_now);
  list->element = std::move(element);
  if (count == 0) return list;
  list->kind_ = Kind::Ints;
  list->grow(count);
  std::copy_n(ints, count, list->ints());
  list->size_ = count;
  return list;
}

Ref<List> List::like(const List& other) {
  Ref<List> list = List::make(nullptr, 0, other.element);
  list->kind_ = other.kind_;
  return list;
}

List::~List() {
  release();
  memory::quick::uncharge(int64_t(sizeof(List)));
}

// Drops the elements and frees their memory.
void List::release() noexcept {
  size_t count = size_, bytes = bytes_;
  void* data = data_;
  size_ = bytes_ = 0;
  data_ = nullptr;
  if (kind_ == Kind::Values) {
    for (size_t k = 0; k < count; ++k) static_cast<Value*>(data)[k].~Value();
  }
  give_room(data, bytes);
}

Value List::get(size_t at) const {
  switch (kind_) {
    case Kind::Ints: return Value(ints()[at]);
    case Kind::Floats: return Value(floats()[at]);
    case Kind::Bools: return Value(bools()[at]);
    default: return values()[at];
  }
}

void List::put(size_t at, Value&& value) noexcept {
  switch (kind_) {
    case Kind::Ints: ints()[at] = value.raw_int(); break;
    case Kind::Floats: floats()[at] = value.raw_double(); break;
    case Kind::Bools: bools()[at] = value.raw_bool(); break;
    default: new (values() + at) Value(std::move(value));
  }
}

void List::set(size_t at, Value value) {
  if (!is_thread_local()) value.publish();
  adapt(kind_of(value.tag()));
  if (kind_ == Kind::Values) {
    values()[at].swap(value);  // destroying the old value may change the list, so it comes last
  } else {
    put(at, std::move(value));
  }
}

Value List::take(size_t at) {
  Value taken = kind_ == Kind::Values ? std::move(values()[at]) : get(at);
  char* place = static_cast<char*>(data_) + at * width();
  std::memmove(place, place + width(), (size_ - at - 1) * width());  // Values may be moved as bytes
  --size_;
  return taken;
}

void List::push(Value value) {
  if (!is_thread_local()) value.publish();
  adapt(kind_of(value.tag()));
  if ((size_ + 1) * width() > bytes_) grow(size_ + 1, kPushedRoom);
  put(size_, std::move(value));
  ++size_;
}

void List::insert(size_t at, Value value) {
  push(std::move(value));
  visit([&](auto* first) { std::rotate(first + at, first + size_ - 1, first + size_); });
}

void List::clear() noexcept { release(); }

void List::reserve(size_t count) {
  if (count * width() > bytes_) grow(count);
}

void List::extend(const List& other) {
  size_t count = other.size_;
  if (count == 0) return;
  adapt(other.kind_);
  if (!is_thread_local()) other.publish_elements();
  if (&other == this || kind_ == other.kind_) {
    reserve(size_ + count);
    visit([&](auto* first) {
      std::uninitialized_copy_n(reinterpret_cast<decltype(first)>(other.data_), count,
                                first + size_);
    });
    size_ += count;
    return;
  }
  for (size_t k = 0; k < count; ++k) push(other.get(k));
}

void List::reverse() noexcept {
  visit([&](auto* first) { std::reverse(first, first + size_); });
}

void List::swap(List& other) {
  std::swap(kind_, other.kind_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(bytes_, other.bytes_);
  if (!is_thread_local()) publish_elements();
  if (!other.is_thread_local()) other.publish_elements();
}

void List::publish_elements() const {
  for (size_t k = 0; kind_ == Kind::Values && k < size_; ++k) values()[k].publish();
}

Ref<List> List::slice(int64_t start, int64_t step, size_t count) const {
  Ref<List> taken = List::like(*this);
  if (count == 0) return taken;
  taken->grow(count);
  visit([&](auto* first) {
    auto* to = reinterpret_cast<decltype(first)>(taken->data_);
    for (size_t k = 0; k < count; ++k) {
      new (to + k) std::remove_reference_t<decltype(*to)>(first[start + int64_t(k) * step]);
    }
  });
  taken->size_ = count;
  return taken;
}

ValueSpan List::boxed() {
  if (kind_ != Kind::Values) become_values();
  return {values(), size_};
}

// Converts the list to a kind that can store the value, if it cannot store it now.
void List::adapt(Kind kind) {
  if (kind_ == kind) return;
  if (size_ == 0) {
    kind_ = kind;
  } else if (kind_ != Kind::Values) {
    become_values();
  }
}

void List::become_values() {
  size_t bytes = size_ * sizeof(Value);
  Value* fresh = static_cast<Value*>(take_room(bytes));
  for (size_t k = 0; k < size_; ++k) new (fresh + k) Value(get(k));
  give_room(data_, bytes_);
  kind_ = Kind::Values;
  data_ = fresh;
  bytes_ = bytes;
}

// Makes room for `count` elements and at least doubles the capacity, so that pushing costs constant
// time on average. The memory is charged before it is allocated; if that raises, the list is
// unchanged.
void List::grow(size_t count, size_t least) {
  size_t each = width();
  if (count > size_t(PTRDIFF_MAX) / 4 / each) {
    raise(ErrorKind::MemoryError, "a list of ", count, " elements");
  }
  constexpr size_t kStep = memory::quick::kSmallStep;
  size_t bytes = (std::max(count * each, least) + kStep - 1) / kStep * kStep;
  if (size_ && bytes < bytes_ * 2) bytes = bytes_ * 2;
  void* fresh = take_room(bytes);
  if (size_) std::memcpy(fresh, data_, size_ * each);  // Values may be moved as bytes
  give_room(data_, bytes_);
  data_ = fresh;
  bytes_ = bytes;
}

std::vector<Value> items_of(const Value& sequence) {
  if (sequence.is_tuple()) {
    const Tuple::Items& parts = sequence.as_tuple().items;
    return std::vector<Value>(parts.begin(), parts.end());
  }
  const List& list = sequence.as_list();
  std::vector<Value> items;
  items.reserve(list.size());
  for (const Value& item : list) items.push_back(item);
  return items;
}

}  // namespace scriptlang
