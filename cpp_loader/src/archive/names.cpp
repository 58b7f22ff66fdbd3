// Reads scriptlang/names.pkl, and checks it. See names.h.
#include "names.h"

#include <unordered_set>

#include "values/dict.h"
#include "values/list.h"

namespace scriptlang {

namespace {

constexpr int64_t kWritten = 1;  // the version of the format
// A pickle may refer to one part many times. So what is made of the record has limits, not its
// size.
constexpr size_t kMostNames = 1 << 20;
constexpr size_t kMostAttributes = 10'000;

class NamesReader {
 public:
  explicit NamesReader(ClassTable* classes) : classes_(*classes) {}

  NoneDefaults read(const Value& tree) {
    const Tuple::Items& parts = tuple(tree);
    if (parts.size() != 4 || !parts[0].is_int()) fail("it is no tuple of four");
    if (parts[0].as_int() != kWritten) {
      fail("it has the version ", parts[0].as_int(), "; a newer scriptlang may read it");
    }
    each(parts[1], [&](const std::string& name, const Value& rows) { add_enum(name, rows); });
    each(parts[2], [&](const std::string& name, const Value& rows) { add_class(name, rows); });
    NoneDefaults defaults;
    each(parts[3], [&](const std::string& name, const Value& rows) {
      std::unordered_set<std::string>& of = defaults[name];
      for (const Value& row : tuple(rows)) of.insert(text(row));
    });
    return defaults;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) {
    raise(ErrorKind::ArchiveError, kNamesRecord, " is malformed: ", parts...);
  }
  const Tuple::Items& tuple(const Value& v) {
    if (!v.is_tuple()) fail("a ", tag_name(v.tag()), " stands where a tuple should");
    return v.as_tuple().items;
  }
  std::string text(const Value& v) {
    if (!v.is_string() || v.as_string().empty()) fail("a name is no text");
    left_ -= v.as_string().size() / 64 + 1;
    if (left_ <= 0) fail("it has over ", kMostNames, " names");
    return std::string(v.as_string());
  }

  // Calls body(name, rows) for each pair. Raises if a name occurs twice.
  template <class Body>
  void each(const Value& rows, Body&& body) {
    std::unordered_set<std::string> seen;
    for (const Value& row : tuple(rows)) {
      const Tuple::Items& pair = tuple(row);
      if (pair.size() != 2) fail("a row is no pair");
      std::string name = text(pair[0]);
      if (!seen.insert(name).second) fail("it says twice what ", name, " has");
      body(name, pair[1]);
    }
  }

  ClassType& get(const std::string& name) {
    ClassRef cls = classes_.resolver()(name);
    if (!cls) fail(name, " is no class");
    if (!cls->members.empty() || !cls->attributes.empty()) fail(name, " is a class and an enum");
    return *cls;
  }

  void add_enum(const std::string& name, const Value& rows) {
    ClassType& cls = get(name);
    std::unordered_set<std::string> seen;
    Ref<Dict> values = Dict::make();
    for (const Value& row : tuple(rows)) {
      const Tuple::Items& pair = tuple(row);
      if (pair.size() != 2) fail("a member of ", name, " is no pair");
      std::string member = text(pair[0]);
      const Value& value = pair[1];
      if (!value.is_int() && !value.is_double() && !value.is_string()) {
        fail("the member ", member, " of ", name, " is a ", tag_name(value.tag()));
      }
      if (!seen.insert(member).second || values->find(value)) {
        fail("two members of ", name, " are the same");
      }
      values->set(value, Value());
      cls.members.emplace_back(std::move(member), value);
    }
  }

  void add_class(const std::string& name, const Value& rows) {
    ClassType& cls = get(name);
    std::unordered_set<std::string> seen;
    for (const Value& row : tuple(rows)) {
      std::string attribute = text(row);
      if (!seen.insert(attribute).second) fail(name, " has two attributes ", attribute);
      cls.attributes.push_back(std::move(attribute));
    }
    if (cls.attributes.size() > kMostAttributes) fail(name, " has too many attributes");
  }

  ClassTable& classes_;
  int64_t left_ = int64_t(kMostNames);
};

}  // namespace

NoneDefaults read_names(const Value& tree, ClassTable* classes) {
  return NamesReader(classes).read(tree);
}

}  // namespace scriptlang
