// Helpers of the C API for handles. See capi.h.
#include "capi.h"

#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "values/dict.h"
#include "values/list.h"

using namespace scriptlang;

namespace scriptlang::capi {

// Visits each tuple once, because tuples may share parts many times.
bool is_open(const Value& v) {
  std::vector<const Tuple*> pending;
  std::unordered_set<const Tuple*> seen;
  auto look = [&](const Value& item) {
    if (!item.is_tuple()) {
      return item.is_list() || item.is_dict() || item.is_object() || item.is_future();
    }
    const Tuple* tuple = &item.as_tuple();
    if (tuple->is_alone() || seen.insert(tuple).second) pending.push_back(tuple);
    return false;
  };
  if (look(v)) return true;
  while (!pending.empty()) {
    const Tuple* tuple = pending.back();
    pending.pop_back();
    for (const Value& item : tuple->items) {
      if (look(item)) return true;
    }
  }
  return false;
}

bool reaches(const Value& from, const Value& what) {
  std::vector<Value> pending{from};
  std::unordered_set<uint64_t> seen;
  while (!pending.empty()) {
    Value v = std::move(pending.back());
    pending.pop_back();
    bool holds = v.is_list() || v.is_dict() || v.is_tuple() || v.is_object();
    if (!holds) continue;
    if (v.same(what)) return true;
    if (!seen.insert(v.bits()).second) continue;
    if (v.is_object()) {
      for (const Value& slot : v.as_object().slots) pending.push_back(slot);
    } else if (v.is_dict()) {
      const Dict::Entry* entry;
      for (size_t cursor = 0; v.as_dict().next(&cursor, &entry);) pending.push_back(entry->value);
    } else if (v.is_tuple() || v.as_list().kind() == List::Kind::Values) {
      for (const Value& item : items_of(v)) pending.push_back(item);
    }
  }
  return false;
}

void join_domain(DomainRef* to, const sl_value* of) {
  if (!of || !of->domain) return;
  if (*to) join(to->get(), of->domain.get());
  else *to = of->domain;
}

std::vector<Value> values_of(sl_value* const* items, size_t count) {
  check_count(items, count);
  std::vector<Value> values;
  values.reserve(count);
  for (size_t k = 0; k < count; ++k) values.push_back(items[k] ? items[k]->value : Value());
  return values;
}

sl_module* module_handle(std::shared_ptr<Module> module, const Value& object,
                         std::shared_ptr<Extras> extras) {
  auto handle = std::make_unique<sl_module>();
  handle->object = object;
  handle->extras = extras ? std::move(extras) : std::make_shared<Extras>(module->archive());
  handle->module = std::move(module);
  return handle.release();
}

const std::vector<std::string>& methods_of(const sl_module& module) {
  std::call_once(module.asked, [&] {
    Outside outside;
    if (!module.object.same(module.module->root())) module.module->complete();
    module.methods = module.module->method_names(*module.object.as_object().type);
  });
  return module.methods;
}

sl_value* value_of(const Module& module, Value value) {
  auto handle = std::make_unique<sl_value>();
  handle->value = std::move(value);
  module.domain()->retain();
  handle->domain = DomainRef(module.domain());
  return handle.release();
}

sl_status give_text(const std::string& printed, char** text, size_t* size) {
  char* copy = static_cast<char*>(std::malloc(printed.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, printed.c_str(), printed.size() + 1);
  *text = copy;
  if (size) *size = printed.size();
  return SL_OK;
}

}  // namespace scriptlang::capi

void sl_text_release(char* text) { std::free(text); }
