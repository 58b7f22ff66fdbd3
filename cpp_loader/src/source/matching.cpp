// Overload resolution: assigns the arguments of a call to the formals of a signature, with the
// conversions that are needed.
#include <algorithm>

#include "overloads.h"

namespace scriptlang::source {

namespace {

class Matcher {
 public:
  Matcher(Types* types, const Signature& signature, const std::vector<Actual>& actuals,
          bool implicit, Match* match, std::string* why)
      : types_(*types),
        signature_(signature),
        actuals_(actuals),
        implicit_(implicit),
        match_(*match),
        why_(why) {
    while (positional_ < actuals.size() && actuals[positional_].name.empty()) ++positional_;
    match_.signature = &signature;
    match_.slots.clear();
  }

  bool run() {
    std::vector<char> used(actuals_.size(), 0);
    size_t at = 0;
    for (size_t i = 0; i < signature_.formals.size(); ++i) {
      const Formal& formal = signature_.formals[i];
      match_.slots.emplace_back();
      Slot& slot = match_.slots.back();
      if (at < positional_ && !formal.by_name) {
        if (takes_rest(i) && !is_listable(actuals_[at].type, formal)) {
          if (!gather(formal, at, &slot)) return false;
          at = positional_;
          continue;
        }
        slot.source = int(at++);
      } else if ((slot.source = find(formal.name)) >= 0) {
        used[size_t(slot.source)] = 1;
      } else if (formal.has_default) {
        continue;
      } else {
        return no("argument '", formal.name, "' is not given");
      }
      if (!fit(formal, actuals_[size_t(slot.source)], &slot.step)) return false;
    }
    if (at < positional_ && !signature_.variadic) {
      return no("it takes fewer positional arguments, ", positional_, " are given");
    }
    for (size_t k = positional_; k < actuals_.size(); ++k) {
      if (used[k]) continue;
      return no("keyword argument '", actuals_[k].name, "' is unknown or given twice");
    }
    match_.extra = at;
    match_.returns.clear();
    for (T type : signature_.returns) {
      match_.returns.push_back(signature_.has_variables ? types_.substitute(type, variables_)
                                                        : type);
    }
    return true;
  }

 private:
  template <class... Parts>
  bool no(const Parts&... parts) {
    if (why_) *why_ = concat(parts...);
    return false;
  }

  int find(const std::string& name) const {
    for (size_t k = positional_; k < actuals_.size(); ++k) {
      if (actuals_[k].name == name) return int(k);
    }
    return -1;
  }

  // Whether a formal takes all positional arguments that are left: it is the last positional one
  // and a list, as `size` in zeros(2, 3).
  bool takes_rest(size_t i) const {
    const Formal& formal = signature_.formals[i];
    bool is_last = i + 1 == signature_.formals.size() || signature_.formals[i + 1].by_name;
    return formal.type->kind == TypeKind::List && formal.repeat == 0 && is_last &&
           formal.type->elements[0]->kind != TypeKind::Variable;
  }
  // Whether an argument is a list or a tuple itself, so that nothing has to be gathered.
  bool is_listable(T actual, const Formal& formal) const {
    if (actual->kind == TypeKind::List) return true;
    if (actual->kind != TypeKind::Tuple && actual->kind != TypeKind::NamedTuple) return false;
    return std::all_of(actual->elements.begin(), actual->elements.end(), [&](const TypeRef& e) {
      return types_.is_subtype(e.get(), formal.type->elements[0].get());
    });
  }

  // Gathers the positional arguments from `at` on to a list.
  bool gather(const Formal& formal, size_t at, Slot* slot) {
    T element = formal.type->elements[0].get();
    slot->source = int(at);
    slot->gathered = int(positional_ - at);
    for (size_t k = at; k < positional_; ++k) {
      T after;
      slot->steps.push_back(
          types_.plan(actuals_[k].type, element, implicit_, actuals_[k].open, &after));
      if (!types_.is_subtype(after, element)) return wrong(formal, actuals_[k].type);
    }
    return true;
  }

  bool wrong(const Formal& formal, T actual) {
    return no("argument '", formal.name, "' needs ", Types::text(formal.type), ", not ",
              Types::text(actual));
  }

  // Finds the conversion that fits an argument to a formal. Binds type variables.
  bool fit(const Formal& formal, const Actual& actual, Step* step) {
    T wanted = formal.type;
    if (actual.type == wanted) return true;
    if (formal.repeat > 0 && (actual.type == types_.integer || actual.type == types_.real)) {
      T list = types_.without_none(wanted);
      if (list->kind == TypeKind::List && list->elements[0].get() == actual.type) {
        *step = {Step::Repeat, list, nullptr, formal.repeat, {}};
        return true;
      }
    }
    if (signature_.has_variables && Types::has_variables(wanted)) {
      if (!types_.bind(wanted, actual.type, &variables_)) return wrong(formal, actual.type);
      wanted = types_.substitute(wanted, variables_);
      if (Types::has_variables(wanted)) {
        return no("argument '", formal.name, "': ", Types::text(wanted), " cannot be inferred");
      }
    }
    T after;
    *step = types_.plan(actual.type, wanted, implicit_, actual.open, &after);
    return types_.is_subtype(after, wanted) || wrong(formal, actual.type);
  }

  Types& types_;
  const Signature& signature_;
  const std::vector<Actual>& actuals_;
  bool implicit_;
  Match& match_;
  std::string* why_;
  size_t positional_ = 0;
  Types::Variables variables_;
};

std::string list_of(const std::vector<Actual>& actuals) {
  std::string text;
  for (const Actual& a : actuals) {
    if (!text.empty()) text += ", ";
    if (!a.name.empty()) text.append(a.name).append(1, '=');
    text += Types::text(a.type);
  }
  return text;
}

}  // namespace

bool try_match(Types* types, const Signature& signature, const std::vector<Actual>& actuals,
               bool implicit, Match* match, std::string* why) {
  return Matcher(types, signature, actuals, implicit, match, why).run();
}

bool choose(Types* types, const Candidates& candidates, const std::vector<Actual>& actuals,
            Match* match, std::string* why) {
  for (int implicit = candidates.size() > 1 ? 0 : 1; implicit < 2; ++implicit) {
    for (const Signature* candidate : candidates) {
      if (try_match(types, *candidate, actuals, implicit == 1, match, nullptr)) return true;
    }
  }
  std::string reason;
  if (candidates.size() == 1) {
    try_match(types, *candidates[0], actuals, true, match, &reason);
    *why = concat("the call of ", candidates[0]->name, " does not fit: ", reason, "; it is ",
                  describe(*candidates[0]));
    return false;
  }
  *why = concat("no overload of ", candidates[0]->name, " takes (", list_of(actuals),
                "); candidates:");
  constexpr size_t kMostShown = 8;
  for (size_t k = 0; k < candidates.size() && k < kMostShown; ++k) {
    try_match(types, *candidates[k], actuals, true, match, &reason);
    *why += concat("\n  ", describe(*candidates[k]), ": ", reason);
  }
  return false;
}

std::string describe(const Signature& signature) {
  std::string text = signature.name + "(";
  bool starred = false;
  for (size_t k = 0; k < signature.formals.size(); ++k) {
    const Formal& formal = signature.formals[k];
    if (k) text += ", ";
    if (formal.by_name && !starred) text += "*, ";
    starred = starred || formal.by_name;
    text += formal.name + ": " + Types::text(formal.type);
    if (formal.has_default) text += "=" + to_text(formal.value);
  }
  return text + ")";
}

}  // namespace scriptlang::source
