// Mirrors: see mirrors.h.
#include "mirrors.h"

namespace scriptlang::python {

namespace {

// The elements of a list, or the keys and values of a dict in turn.
nb::list elements_of(nb::handle container) {
  nb::list found;
  if (PyList_Check(container.ptr())) {
    for (nb::handle item : nb::borrow<nb::list>(container)) found.append(item);
    return found;
  }
  for (auto [key, value] : nb::borrow<nb::dict>(container)) {
    found.append(key);
    found.append(value);
  }
  return found;
}

// Whether two lists have the same objects as elements.
bool has_same(const nb::list& a, const nb::list& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    if (!nb::object(a[k]).is(nb::object(b[k]))) return false;
  }
  return true;
}

// Gives a list or dict of Python other elements.
void fill(nb::handle mirror, const nb::object& from) {
  if (PyList_Check(mirror.ptr())) {
    if (PyList_SetSlice(mirror.ptr(), 0, PY_SSIZE_T_MAX, from.ptr()) != 0) {
      throw nb::python_error();
    }
    return;
  }
  PyDict_Clear(mirror.ptr());
  if (PyDict_Update(mirror.ptr(), from.ptr()) != 0) throw nb::python_error();
}

}  // namespace

const Value* Mirrors::original_of(nb::handle mirror) const {
  auto found = by_mirror_.find(mirror.ptr());
  return found == by_mirror_.end() ? nullptr : &pairs_[found->second].original;
}

bool Mirrors::has_changed(const Pair& pair) {
  return !has_same(elements_of(pair.mirror), nb::borrow<nb::list>(pair.stored));
}

const nb::object* Mirrors::mirror_of(const Value& value, ToPython& convert, int depth) {
  auto found = by_original_.find(value.bits());
  if (found == by_original_.end()) return nullptr;
  const size_t at = found->second;
  if (pairs_[at].age != age_) {
    pairs_[at].age = age_;
    const bool is_stored = pairs_[at].stored.is_valid() && !has_changed(pairs_[at]);
    if (is_stored) {
      fill(pairs_[at].mirror, convert.elements(value, depth));
      unsettled_.push_back(at);
    }
  }
  return &pairs_[at].mirror;
}

void Mirrors::add(const Value& original, const nb::object& mirror) {
  by_original_.emplace(original.bits(), pairs_.size());
  by_mirror_.emplace(mirror.ptr(), pairs_.size());
  unsettled_.push_back(pairs_.size());
  pairs_.push_back({original, mirror, {}, {}, age_});
}

// Notes of the pairs that a conversion has added what they hold, and the domain that they are in.
void Mirrors::settle(const DomainRef& domain) {
  for (size_t at : unsettled_) {
    pairs_[at].stored = elements_of(pairs_[at].mirror);
    pairs_[at].domain = domain;
  }
  unsettled_.clear();
}

// Forgets the pairs that a conversion has added before it failed.
void Mirrors::abandon() {
  for (size_t at : unsettled_) {
    by_original_.erase(pairs_[at].original.bits());
    by_mirror_.erase(pairs_[at].mirror.ptr());
    pairs_[at].stored = {};
  }
  unsettled_.clear();
}

nb::object Mirrors::get(const NativeObject& o, int64_t slot) {
  wait_until_whole(o);
  Ref<Object> kept = o.object;
  DomainRef domain = o.domain;
  nb::object found;
  {
    Turn turn;
    look(&turn, domain, false);
    ToPython convert(kMostValues, domain);
    convert.use(this);
    try {
      found = o.read(slot_of(o, slot), convert);
    } catch (...) {
      abandon();
      throw;
    }
  }
  settle(domain);
  return found;
}

void Mirrors::set(const NativeObject& o, int64_t slot, nb::handle value) {
  wait_until_whole(o);
  Ref<Object> kept = o.object;
  DomainRef domain = o.domain;
  ToNative convert;
  convert.use(this);
  try {
    set_slot(o, slot, value, convert);
  } catch (...) {
    abandon();
    throw;
  }
  settle(domain);
}

void Mirrors::store() {
  for (size_t at = 0; at < pairs_.size(); ++at) {
    if (!pairs_[at].stored.is_valid()) continue;  // abandoned
    if (!has_changed(pairs_[at])) continue;
    nb::list now = elements_of(pairs_[at].mirror);
    const Value original = pairs_[at].original;
    DomainRef domain = pairs_[at].domain;
    ToNative convert;
    convert.use(this);
    std::vector<Value> values;
    try {
      for (nb::handle element : now) values.push_back(convert(element));
    } catch (...) {
      abandon();
      throw;
    }
    if (convert.domain()) join_domains(domain, convert.domain());
    pairs_[at].stored = now;
    settle(domain);
    std::vector<Value> before;  // destroyed without a turn, since that may run Python code
    Ref<List> fresh = List::make();
    if (original.is_list()) {
      for (Value& v : values) fresh->push(std::move(v));
    }
    Turn turn;
    look(&turn, domain, true);
    if (original.is_list()) {
      original.as_list().swap(*fresh);
    } else {
      Dict& dict = original.as_dict();
      const Dict::Entry* entry;
      for (size_t cursor = 0; dict.next(&cursor, &entry);) {
        before.push_back(entry->key);
        before.push_back(entry->value);
      }
      dict.clear();
      for (size_t k = 0; k + 1 < values.size(); k += 2) dict.set(values[k], values[k + 1]);
    }
    turn.give();
    convert.keep_identity();
  }
}

}  // namespace scriptlang::python
