// Sorting of lists of objects by their `__lt__`, and of tuples that contain such objects, as
// frontend/values/object_sorting.py has it: a stable merge sort in the language of archives, of
// which a function is made for each type that a program sorts.
#include <algorithm>

#include "compiler.h"

namespace scriptlang::source {

namespace {

constexpr std::string_view kSort = R"(
def sort(xs: List[C], reverse: bool=False) -> NoneType:
  n = torch.len(xs)
  if reverse:
    torch.reverse(xs)
  else:
    pass
  width = 1
  while torch.lt(width, n):
    merged = annotate(List[C], [])
    start = 0
    while torch.lt(start, n):
      middle = ops.prim.min(torch.add(start, width), n)
      end = ops.prim.min(torch.add(middle, width), n)
      i = start
      j = middle
      while torch.lt(i, middle) and torch.lt(j, end):
        if LESS:
          _0 = torch.append(merged, xs[j])
          j = torch.add(j, 1)
        else:
          _1 = torch.append(merged, xs[i])
          i = torch.add(i, 1)
      while torch.lt(i, middle):
        _2 = torch.append(merged, xs[i])
        i = torch.add(i, 1)
      while torch.lt(j, end):
        _3 = torch.append(merged, xs[j])
        j = torch.add(j, 1)
      start = end
    for k in range(n):
      _4 = torch._set_item(xs, k, merged[k])
    width = torch.mul(width, 2)
  if reverse:
    torch.reverse(xs)
  else:
    pass
  return None
)";

constexpr std::string_view kSorted = R"(
def sorted(xs: List[C]) -> List[C]:
  result = torch.list(xs)
  torch.sort(result)
  return result
)";

std::string replaced(std::string_view text, std::string_view word, std::string_view by) {
  std::string made(text);
  for (size_t at = 0; (at = made.find(word, at)) != std::string::npos; at += by.size()) {
    made.replace(at, word.size(), by);
  }
  return made;
}

bool is_tuple(T type) {
  return type->kind == TypeKind::Tuple || type->kind == TypeKind::NamedTuple;
}

// What makes the text of the functions for one type.
class Sorting {
 public:
  explicit Sorting(const Types* types) : types_(*types) {}

  bool has_objects(T type) const {
    if (!is_tuple(type)) return types_.declared(type) != nullptr;
    return std::any_of(type->elements.begin(), type->elements.end(),
                       [&](const TypeRef& e) { return has_objects(e.get()); });
  }

  bool is_ordered(T type) const {
    if (is_tuple(type)) {
      return std::all_of(type->elements.begin(), type->elements.end(),
                         [&](const TypeRef& e) { return is_ordered(e.get()); });
    }
    Declared* declared = types_.declared(type);
    if (!declared) {
      return type == types_.integer || type == types_.real || type == types_.boolean ||
             type == types_.string || type == types_.tensor;
    }
    const Routine* less = declared->method("__lt__");
    return less && less->signature.formals.size() == 2 && less->signature.formals[1].type == type &&
           less->signature.returns[0] == types_.boolean;
  }

  std::string text(const std::string& what, T type) {
    const std::string sorted = Types::text(type);
    if (what == "aten::sorted") return replaced(kSorted, "C]", sorted + "]");
    std::string less = less_of(type, "xs[j]", "xs[i]");
    return replaced(replaced(kSort, "C]", sorted + "]"), "LESS", less) + comparisons_;
  }

 private:
  // An expression for `left < right`. Tuples have a function, which is added to `comparisons_`.
  std::string less_of(T type, const std::string& left, const std::string& right) {
    if (!is_tuple(type)) return concat(left, " < ", right);
    const std::string name = concat("less_", count_++);
    const std::string tuple = Types::text(type);
    std::string body = concat("def ", name, "(a: ", tuple, ", b: ", tuple, ") -> bool:\n");
    for (size_t k = 0; k < type->elements.size(); ++k) {
      T part = type->elements[k].get();
      const std::string a = concat("a[", k, "]"), b = concat("b[", k, "]");
      body += concat("  if ", less_of(part, a, b), ":\n    return True\n  else:\n    pass\n");
      body += concat("  if ", same(part, a, b), ":\n    pass\n  else:\n    return False\n");
    }
    comparisons_ += body + "  return False\n";
    return concat(name, "(", left, ", ", right, ")");
  }

  // An expression for whether two values are equal. Objects are compared by identity.
  std::string same(T type, const std::string& left, const std::string& right) {
    if (!is_tuple(type)) { return concat(left, types_.declared(type) ? " is " : " == ", right); }
    std::string all = "True";
    for (size_t k = 0; k < type->elements.size(); ++k) {
      const std::string at = concat("[", k, "]");
      all += concat(" and ", same(type->elements[k].get(), left + at, right + at));
    }
    return all;
  }

  const Types& types_;
  std::string comparisons_;
  int count_ = 0;
};

}  // namespace

Routine* Compiler::sorting(const std::string& name, T list) {
  if ((name != "aten::sort" && name != "aten::sorted") || list->kind != TypeKind::List) {
    return nullptr;
  }
  T type = list->elements[0].get();
  Sorting sorting(&types_);
  if (!sorting.has_objects(type) || !sorting.is_ordered(type)) return nullptr;
  auto [it, fresh] = sorting_.try_emplace({name, type}, nullptr);
  if (!fresh) return it->second;
  const std::string_view text = arena_.copy(sorting.text(name, type));
  SourceFile* file = declarations_.add_file("sorting", text);
  sorting_files_[file] = file;
  const std::string made = concat(name.substr(6), " of ", Types::text(type));
  Node* node = declarations_.find_in(file, std::string_view(name).substr(6));
  return it->second = declarations_.declare_function(made, file, node, nullptr);
}

// A function of a file that sorts, by the name that the others of the file call it.
Routine* Compiler::comparison(SourceFile* file, const std::string& name) {
  auto [it, fresh] = comparisons_.try_emplace({file, name}, nullptr);
  if (!fresh) return it->second;
  Node* node = declarations_.find_in(file, name);
  return it->second = node ? declarations_.declare_function(name, file, node, nullptr) : nullptr;
}

}  // namespace scriptlang::source
