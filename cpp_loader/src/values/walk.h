// A walk through a value and everything that it contains.
#pragma once

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "dict.h"
#include "list.h"

namespace scriptlang {

// Visits a value and all that it contains. Each list, tuple, dict and object is entered once, since
// they may be shared over many levels. It does not recurse, as nesting may be deep. It keeps
// pointers, so nothing that is visited may change meanwhile. visit(const Value&) returns whether to
// look inside.
template <class Visit>
void walk(const Value& root, Visit&& visit) {
  std::vector<const Value*> pending{&root};
  std::unordered_set<const void*> seen;
  auto add = [&](const Value* first, size_t count) {
    for (size_t k = count; k-- > 0;) pending.push_back(first + k);  // the first on top
  };
  while (!pending.empty()) {
    const Value& value = *pending.back();
    pending.pop_back();
    if (!visit(value)) continue;
    if (value.is_list()) {
      const List& list = value.as_list();
      const bool has_values = list.kind() == List::Kind::Values;
      if (has_values && seen.insert(&list).second) add(list.values(), list.size());
    } else if (value.is_tuple()) {
      const Tuple& tuple = value.as_tuple();
      if (seen.insert(&tuple).second) add(tuple.items.data(), tuple.items.size());
    } else if (value.is_object()) {
      const Object& object = value.as_object();
      if (seen.insert(&object).second) add(object.slots.data(), object.slots.size());
    } else if (value.is_dict() && seen.insert(&value.as_dict()).second) {
      const size_t before = pending.size();
      const Dict::Entry* entry;
      for (size_t cursor = 0; value.as_dict().next(&cursor, &entry);) {
        pending.push_back(&entry->key);
        pending.push_back(&entry->value);
      }
      std::reverse(pending.begin() + std::ptrdiff_t(before), pending.end());
    }
  }
}

}  // namespace scriptlang
