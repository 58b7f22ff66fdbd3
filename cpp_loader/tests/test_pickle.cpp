// Pickles: what torch writes is read, everything else is refused by name.
#include "archives.h"
#include "harness.h"
#include "archive/names.h"
#include "archive/pickle.h"
#include "program/program.h"
#include "values/quantizer.h"

using namespace scriptlang;
using namespace test;

static Value read(const std::string& body, int64_t storage_bytes = 64) {
  ClassTable classes;
  PickleHooks hooks;
  hooks.classes = classes.resolver();
  hooks.storage = [&](const std::string& key, ScalarType) {
    if (key != "0") raise(ErrorKind::ArchiveError, "the record ", key, " is missing");
    return Storage::allocate(storage_bytes);
  };
  return read_pickle(pickle(body), "data.pkl", hooks);
}

TEST(plain_values) {
  CHECK_EQ(to_text(read("N")), "None");
  CHECK_EQ(to_text(read(p_tuple({p_int(-3), "\x88", p_text("h\xc3\xa9"), "K\x07"}))),
           "(-3, True, h\xc3\xa9, 7)");
  CHECK_EQ(read(std::string("G\x3f\xf8\0\0\0\0\0\0", 9)).as_double(), 1.5);
  CHECK_EQ(read(std::string("\x8a\x02\x00\xff", 4)).as_int(), -256);
  CHECK_EQ(to_text(read("](" + p_int(1) + p_int(2) + "e")), "[1, 2]");
  CHECK_EQ(to_text(read("}(" + p_text("k") + p_int(1) + "u")), "{k: 1}");
}

TEST(the_memo_gives_the_same_list) {
  Value v = read(std::string("]q\0h\0\x86", 6));
  CHECK(v.as_tuple().items[0].same(v.as_tuple().items[1]));
}

TEST(typed_lists_and_type_tags) {
  std::string list =
      p_call(p_global("torch.jit._pickle", "build_intlist"), {"](" + p_int(4) + "e"});
  CHECK_EQ(read(list).as_list().get(0).as_int(), 4);
  std::string wrong =
      p_call(p_global("torch.jit._pickle", "build_intlist"), {"](" + p_text("x") + "e"});
  CHECK_RAISES(ArchiveError, "a list of int holds a str", read(wrong));
  std::string tagged = p_call(p_global("torch.jit._pickle", "restore_type_tag"),
                              {"}", p_text("Dict[str, List[int]]")});
  CHECK_EQ(to_string(*read(tagged).as_dict().value_type), "List[int]");
}

TEST(objects_take_their_slots_in_order) {
  Value v = read(p_object("__torch__", "M", {{"a", p_int(1)}, {"b", p_text("x")}}));
  CHECK_EQ(v.as_object().type->name, "__torch__.M");
  CHECK_EQ(v.as_object().slots[1].as_string(), "x");
  CHECK_EQ(v.as_object().type->slot("b"), 1);
}

TEST(enum_members_are_a_class_and_a_bare_value) {
  Value v = read(p_global("__torch__", "Color") + p_text("red") + "R");
  CHECK_EQ(v.as_enum().type->name, "__torch__.Color");
  CHECK_EQ(v.as_enum().value.as_string(), "red");
  CHECK(equal(v, read(p_global("__torch__", "Color") + p_text("red") + "R")));
  CHECK_RAISES(ArchiveError, "is a List", read(p_global("__torch__", "Color") + "]R"));
}

TEST(tensors_are_views_of_storages) {
  Value v = read(p_tensor(p_storage("FloatStorage", "0", 16), 2, {2, 3}, {3, 1}));
  CHECK_EQ(v.as_tensor().dim(), 2);
  CHECK_EQ(v.as_tensor().storage_offset(), 2);
  CHECK(v.as_tensor().dtype() == ScalarType::Float32);
}

static std::string quantized(const std::string& storage, const std::vector<std::string>& how) {
  auto pair = [](int32_t a, int32_t b) { return p_tuple({p_int(a), p_int(b)}); };
  return p_call(p_global("torch._utils", "_rebuild_qtensor"),
                {p_storage(storage, "0", 16), p_int(1), pair(2, 3), pair(3, 1), p_tuple(how),
                 "\x89", p_call(p_global("collections", "OrderedDict"), {})});
}

static const std::string kHalf("G\x3f\xe0\0\0\0\0\0\0", 9);

TEST(quantized_tensors_have_their_parameters) {
  std::string each = p_global("torch", "per_tensor_affine");
  Tensor t = read(quantized("QUInt8Storage", {each, kHalf, p_int(3)})).as_tensor();
  CHECK(t.dtype() == ScalarType::QUInt8 && t.quantizer() && t.quantizer()->is_per_tensor());
  CHECK_EQ(t.quantizer()->scale, 0.5);
  CHECK_EQ(t.quantizer()->zero_point, 3);
  CHECK(t.as_strided({2}, {1}, 0).quantizer() == t.quantizer());
  std::string scales = p_tensor(p_storage("DoubleStorage", "0", 2), 0, {2}, {1});
  std::string zeros = p_tensor(p_storage("LongStorage", "0", 2), 0, {2}, {1});
  std::string channels = p_global("torch", "per_channel_affine");
  t = read(quantized("QInt8Storage", {channels, scales, zeros, p_int(0)})).as_tensor();
  CHECK_EQ(t.quantizer()->axis, 0);
  CHECK_RAISES(ArchiveError, "do not fit its size",
               read(quantized("QInt8Storage", {channels, scales, zeros, p_int(1)})));
  CHECK_RAISES(ArchiveError, "no scheme", read(quantized("QInt8Storage", {each, kHalf})));
  CHECK_RAISES(ArchiveError, "no scheme", read(quantized("QInt8Storage", {p_int(9), kHalf})));
  CHECK_RAISES(ArchiveError, "as if it were quantized",
               read(quantized("ByteStorage", {each, kHalf, p_int(3)})));
  CHECK_RAISES(ArchiveError, "as if it were plain",
               read(p_tensor(p_storage("QInt8Storage", "0", 16), 0, {2}, {1})));
}

TEST(objects_of_pytorchs_classes_keep_their_state) {
  std::string name = p_global("__torch__.torch.classes.xnnpack", "LinearOpContext");
  Value v = read(name + ")\x81" + p_tuple({p_int(1), "N"}) + "b");
  CHECK_EQ(v.as_object().slots.size(), size_t(1));
  CHECK_EQ(to_text(v.as_object().slots[0]), "(1, None)");
  CHECK_RAISES(ArchiveError, "built twice", read(name + ")\x81" + p_int(1) + "b" + p_int(2) + "b"));
}

TEST(tensors_must_lie_in_their_storage) {
  auto refuse = [](const char* part, int32_t offset, std::vector<int32_t> sizes,
                   std::vector<int32_t> strides, int32_t numel = 16) {
    CHECK_RAISES(ArchiveError, part,
                 read(p_tensor(p_storage("FloatStorage", "0", numel), offset, sizes, strides)));
  };
  refuse("out of bounds", 0, {17}, {1});
  refuse("out of bounds", 11, {2, 3}, {3, 1});
  refuse("out of bounds", -1, {1}, {1});
  refuse("out of bounds", 0, {2}, {-1});
  refuse("out of bounds", 0, {2}, {0x7fffffff});
  refuse("negative dimension", 0, {-2}, {1});
  refuse("overflow", 0, {0x7fffffff, 0x7fffffff, 0x7fffffff}, {1, 1, 1});
  refuse("sizes", 0, {1, 1}, {1});
  refuse("out of bounds", 0, {1}, {1}, 17);      // more than the record holds
  refuse("beyond its storage", 0, {5}, {1}, 4);  // more than the id allows
}

TEST(other_globals_are_refused_by_name) {
  for (const char* name : {"system", "popen"}) {
    CHECK_RAISES(ArchiveError, std::string("os.") + name,
                 read(p_call(p_global("os", name), {p_text("true")})));
  }
  CHECK_RAISES(ArchiveError, "builtins.eval", read(p_global("builtins", "eval")));
  CHECK_RAISES(ArchiveError, "torch.load", read(p_global("torch", "load")));
}

TEST(misuse_is_refused) {
  const std::string bodies[] = {
      "",                                        // nothing
      "e",                                       // no mark
      "(e",                                      // no list below
      "N(" + p_int(1) + "e",                     // not a list
      "](" + p_text("k") + p_int(1) + "u",       // SETITEMS on a list
      "}(" + p_text("k") + "u",                  // a key without a value
      std::string("h\0", 2),                     // an empty memo
      std::string("]r\xff\xff\xff\x7f", 6),      // a far memo index
      "(t0)",                                    // fine until the end: two pops and one push
      "N)R",                                     // calling None
      p_global("torch", "FloatStorage"),         // a name is no value
      p_global("__torch__", "C") + "K\1R)\x81",  // NEWOBJ of an enum member
      "N}b",                                     // state of None
      "(" + p_text("x") + "tQ",                  // no storage
      "\x8a\x09" + std::string(9, 'x'),          // an integer of nine bytes
      "}]Ns",                                    // a list as a key
      "\x95" + std::string(8, '\0') + "N",       // a frame of protocol 4
      "i",                                       // unknown
  };
  int refused = 0;
  for (const std::string& body : bodies) {
    try {
      Value v = read(body);
      if (body == "(t0)") ++refused;
    } catch (const Error& e) { refused += e.kind == ErrorKind::ArchiveError; }
  }
  CHECK_EQ(refused, int(sizeof bodies / sizeof bodies[0]));
}

TEST(every_truncation_and_flip_ends_well) {
  std::string body = pickle(p_object(
      "__torch__", "M",
      {{"w", p_tensor(p_storage("FloatStorage", "0", 16), 0, {4, 4}, {4, 1})},
       {"l", p_call(p_global("torch.jit._pickle", "build_intlist"), {"](" + p_int(4) + "e"})}}));
  auto attempt = [](const std::string& bytes) {
    ClassTable classes;
    PickleHooks hooks;
    hooks.classes = classes.resolver();
    hooks.storage = [](const std::string&, ScalarType) { return Storage::allocate(64); };
    try {
      read_pickle(bytes, "data.pkl", hooks);
    } catch (const Error& e) { CHECK(e.kind == ErrorKind::ArchiveError); }
  };
  for (size_t n = 0; n < body.size(); ++n) attempt(body.substr(0, n));
  for (size_t at = 0; at < body.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string damaged = body;
      damaged[at] = char(value);
      attempt(damaged);
    }
  }
}

int main(int count, char** arguments) { return test::main(count, arguments); }

// ---- names.pkl

static Value tuple_of(std::vector<Value> items) { return Value(Tuple::make(std::move(items))); }

// (1, enums, classes, defaults) where each has one row of a name and a tuple.
static Value names(Value enums, Value classes, Value defaults) {
  return tuple_of({Value(1), std::move(enums), std::move(classes), std::move(defaults)});
}
static Value row(const char* name, std::vector<Value> of) {
  return tuple_of({Value(name), tuple_of(std::move(of))});
}

TEST(names_are_given_to_classes) {
  ClassTable classes;
  Value none = tuple_of({});
  Value members = tuple_of({tuple_of({Value("RED"), Value(1)}), tuple_of({Value("B"), Value(2)})});
  Value color = tuple_of({Value("__torch__.Color"), members});
  NoneDefaults defaults =
      read_names(names(tuple_of({color}), tuple_of({row("__torch__.C", {Value("x"), Value("y")})}),
                       tuple_of({row("__torch__.f", {Value("a")})})),
                 &classes);
  CHECK_EQ(classes.get("__torch__.C")->slot("y"), 1);
  CHECK_EQ(defaults.at("__torch__.f").count("a"), size_t(1));
  PickleHooks hooks;
  hooks.classes = classes.resolver();
  std::string named = "\x80\x02" + p_global("__torch__", "Color");
  Value v = read_pickle(named + p_int(2) + "R.", "names", hooks);
  CHECK_EQ(v.as_enum().known_name(), "B");
  CHECK_RAISES(ArchiveError, "has no member 3", read_pickle(named + p_int(3) + "R.", "x", hooks));
  Value unknown = read(p_global("__torch__", "Color") + p_int(2) + "R");
  CHECK_RAISES(RuntimeError, "is not known", unknown.as_enum().known_name());
  CHECK_RAISES(RuntimeError, "is not known", to_text(unknown));
}

TEST(malformed_names_are_refused) {
  Value none = tuple_of({}), pair = tuple_of({Value("RED"), Value(1)});
  auto refused = [&](const Value& tree) {
    ClassTable classes;
    CHECK_RAISES(ArchiveError, "names.pkl", read_names(tree, &classes));
  };
  refused(Value(7));
  refused(none);
  refused(tuple_of({Value(2), none, none, none}));
  refused(names(Value(3), none, none));
  refused(names(tuple_of({pair}), none, none));
  refused(names(tuple_of({row("other.Color", {pair})}), none, none));
  refused(names(tuple_of({row("__torch__.A", {pair, pair})}), none, none));
  refused(names(tuple_of({row("__torch__.A", {pair}), row("__torch__.A", {pair})}), none, none));
  Value both = tuple_of({row("__torch__.A", {Value("x")})});
  refused(names(tuple_of({row("__torch__.A", {pair})}), both, none));
  refused(names(tuple_of({row("__torch__.A", {tuple_of({Value("X"), none})})}), none, none));
  refused(names(none, tuple_of({row("__torch__.A", {Value("x"), Value("x")})}), none));
  refused(names(none, tuple_of({row("__torch__.A", {Value("")})}), none));
  refused(names(none, none, tuple_of({row("f", {Value(1)})})));
  // One tuple of many names, named by many classes.
  std::vector<Value> many;
  for (int k = 0; k < 5000; ++k) many.push_back(Value(concat("a", k)));
  Value all = tuple_of(many);
  std::vector<Value> rows;
  for (int k = 0; k < 5000; ++k) rows.push_back(tuple_of({Value(concat("__torch__.C", k)), all}));
  refused(names(none, tuple_of(rows), none));
}
