// The overloads of operators in PyTorch's order, from ops.def and overloads.txt.
#include "overloads.h"

#include <algorithm>

#include "ops/custom.h"
#include "packed.h"

namespace scriptlang::source {

namespace {

// Finds an operator in overloads.txt, in which the lines with names are sorted. The lines of its
// overloads follow the name, indented by a space.
class Names {
 public:
  Names() : text_(overloads_text()) {
    for (size_t at = 0; at < text_.size();) {
      size_t end = std::min(text_.find('\n', at), text_.size());
      if (text_[at] != ' ') starts_.push_back(at);
      at = end + 1;
    }
  }

  // The lines after a name, each with its line feed; empty if it is not listed.
  std::string_view lines(std::string_view name) const {
    auto it = std::lower_bound(starts_.begin(), starts_.end(), name,
                               [this](size_t at, std::string_view n) { return name_at(at) < n; });
    if (it == starts_.end() || name_at(*it) != name) return {};
    size_t begin = *it + name.size() + 1;
    size_t end = it + 1 == starts_.end() ? text_.size() : it[1];
    return text_.substr(begin, end - begin);
  }

 private:
  std::string_view name_at(size_t at) const { return text_.substr(at, text_.find('\n', at) - at); }
  std::string_view text_;
  std::vector<size_t> starts_;
};

const Names& names() {
  static const Names* const made = new Names;
  return *made;
}

#if defined(SL_SELECTED)
// The schema of an operator that was left out of this build; empty if there is none.
std::string_view left_out(std::string_view qualified) {
  static const std::vector<std::string_view>* const schemas = [] {
    auto* lines = new std::vector<std::string_view>;
    for (std::string_view text = left_out_text(); !text.empty();) {
      const size_t end = std::min(text.find('\n'), text.size() - 1);
      lines->push_back(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    return lines;
  }();
  auto name_of = [](std::string_view schema) { return schema.substr(0, schema.find('(')); };
  auto it = std::lower_bound(
      schemas->begin(), schemas->end(), qualified,
      [&](std::string_view schema, std::string_view name) { return name_of(schema) < name; });
  return it != schemas->end() && name_of(*it) == qualified ? *it : std::string_view();
}
#else
std::string_view left_out(std::string_view) { return {}; }
#endif

}  // namespace

void Overloads::keep(std::unique_ptr<Signature> signature, Candidates* out) {
  out->push_back(signature.get());
  signatures_.push_back(std::move(signature));
}

std::unique_ptr<Signature> Overloads::convert(const Schema& schema, const OpEntry* entry) {
  auto made = std::make_unique<Signature>();
  made->name = schema.name;
  made->overload = schema.overload;
  made->variadic = schema.variadic_arguments;
  made->entry = entry;
  for (const Argument& a : schema.arguments) {
    Formal formal;
    formal.name = a.name;
    formal.type = types_.intern(*a.type);
    formal.has_default = a.has_default;
    formal.by_name = a.keyword_only;
    formal.written = a.is_out;
    formal.value = a.default_value;
    T list = types_.without_none(formal.type);
    if (list->kind == TypeKind::List) formal.repeat = int(a.fixed_size);
    made->has_variables = made->has_variables || Types::has_variables(formal.type);
    made->formals.push_back(std::move(formal));
  }
  made->plain_results = !schema.returns.empty();
  for (const Argument& r : schema.returns) {
    made->returns.push_back(types_.intern(*r.type));
    made->plain_results = made->plain_results && made->returns.back() == types_.tensor;
  }
  return made;
}

std::unique_ptr<Signature> Overloads::parse(const std::string& name, std::string_view overload,
                                            std::string_view tail) {
  std::string text = name;
  if (!overload.empty()) text.append(1, '.').append(overload);
  return convert(parse_schema(text.append(tail)), nullptr);
}

// Adds the overload of a qualified name, if it is known. A library that was built for some programs
// only knows the schemas of the operators that were left out.
void Overloads::add_operator(const std::string& qualified, Candidates* out) {
  if (const OpEntry* entry = find_op(qualified)) {
    keep(convert(schema_of(*entry), entry), out);
  } else if (std::string_view schema = left_out(qualified); !schema.empty()) {
    keep(convert(parse_schema(std::string(schema)), nullptr), out);
  }
}

// Adds the overloads that overloads.txt lists. A line is the name of an overload that has a kernel,
// or a whole schema from the overload's name on; "=" before it says that bodies.txt has a body.
void Overloads::add_listed(const std::string& name, Candidates* out) {
  std::string_view lines = names().lines(name);
  while (!lines.empty()) {
    size_t end = lines.find('\n');
    std::string_view line = lines.substr(1, end - 1);
    lines.remove_prefix(end + 1);
    size_t open = line.find('(');
    if (open != std::string_view::npos) {
      bool has_body = line[0] == '=';
      auto made = parse(name, line.substr(has_body, open - has_body), line.substr(open));
      made->needs_body = has_body;
      keep(std::move(made), out);
      continue;
    }
    std::string qualified = name;
    if (!line.empty()) qualified.append(1, '.').append(line);
    add_operator(qualified, out);
  }
}

const Candidates& Overloads::of(const std::string& name) {
  auto [it, fresh] = known_.try_emplace(name);
  if (!fresh) return it->second;
  add_listed(name, &it->second);
  if (it->second.empty()) {
    const OpEntry* entry = find_op(name);
    if (!entry || !(entry->at & kCustomEntry)) add_operator(name, &it->second);
  }
  for (const OpEntry* entry : custom_overloads(name)) {
    keep(convert(schema_of(*entry), entry), &it->second);
  }
  return it->second;
}

}  // namespace scriptlang::source
