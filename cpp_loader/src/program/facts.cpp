// Facts of operators, from the generated table and from the texts of schemas.
#include "facts.h"

#include <algorithm>
#include <iterator>

namespace scriptlang {

namespace {

constexpr std::string_view kOrdered[] = {
#define SL_ORDERED(name) name,
#include "facts.def"
};
constexpr std::string_view kShares[] = {
#define SL_SHARES(name) name,
#include "facts.def"
};
constexpr std::string_view kReshapes[] = {
#define SL_RESHAPES(name) name,
#include "facts.def"
};
constexpr std::string_view kAsks[] = {
#define SL_ASKS(name) name,
#include "facts.def"
};
struct Random {
  std::string_view name;
  int switched;
};
constexpr Random kRandom[] = {
#define SL_RANDOM(name, switched) {name, switched},
#include "facts.def"
};
struct Form {
  std::string_view name, other;
};
constexpr Form kForms[] = {
#define SL_OUT_OF_PLACE(name, other) {name, other},
#include "facts.def"
};
// The namespaces of built-in operators, as in passes/effects.py. Operators of others may do more
// than their schemas say.
constexpr std::string_view kNamespaces[] = {
    "aten::", "prim::", "scriptlang::", "quantized::", "prepacked::"};

template <class Row>
const Row* find_row(const Row* begin, const Row* end, std::string_view name) {
  const Row* row = std::lower_bound(
      begin, end, name, [](const Row& r, std::string_view wanted) { return r.name < wanted; });
  return row != end && row->name == name ? row : nullptr;
}

bool is_ours(std::string_view name) {
  return std::any_of(std::begin(kNamespaces), std::end(kNamespaces),
                     [&](std::string_view space) { return name.substr(0, space.size()) == space; });
}

}  // namespace

bool only_gives(const OpEntry& entry, int* switched) {
  const std::string_view name = entry.qualified_name(), text = entry.text();
  *switched = -1;
  if (!is_ours(name) || text.find('!') != text.npos) return false;
  if (std::binary_search(std::begin(kOrdered), std::end(kOrdered), name)) return false;
  const Random* random = find_row(std::begin(kRandom), std::end(kRandom), name);
  if (!random) return true;
  *switched = random->switched;
  return random->switched >= 0;
}

bool gives_fresh(const OpEntry& entry) {
  const std::string_view name = entry.qualified_name(), text = entry.text();
  if (name.substr(0, 6) != "aten::" && name.substr(0, 12) != "scriptlang::") return false;
  const size_t arrow = text.rfind(" -> ");
  if (text.find('!') != text.npos || arrow == text.npos) return false;
  if (text.find("(a", arrow) != text.npos || text.find("(*", arrow) != text.npos) return false;
  return !may_share(entry);
}

bool may_share(const OpEntry& entry) {
  return std::binary_search(std::begin(kShares), std::end(kShares), entry.qualified_name());
}

bool reshapes(const OpEntry& entry) {
  return std::binary_search(std::begin(kReshapes), std::end(kReshapes), entry.qualified_name());
}

bool asks_for_derivatives(std::string_view qualified_name) {
  return std::binary_search(std::begin(kAsks), std::end(kAsks), qualified_name);
}

const OpEntry* out_of_place(const OpEntry& entry) {
  const Form* form = find_row(std::begin(kForms), std::end(kForms), entry.qualified_name());
  return form ? find_op(form->other) : nullptr;
}

}  // namespace scriptlang
