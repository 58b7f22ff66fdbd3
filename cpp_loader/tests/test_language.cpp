// Operators of the language: numbers, strings, lists, dicts, as PyTorch computes them.
#include <cmath>

#include "assembler.h"
#include "harness.h"

using namespace scriptlang;
using namespace test;

static const int64_t kMin = INT64_MIN;

static Value list(std::vector<Value> items) { return List::make(std::move(items)); }
static std::string text_of_call(const char* name, std::vector<Value> arguments) {
  return text_of(call_op(name, std::move(arguments)));
}

#define CHECK_OP(wanted, name, ...) CHECK_EQ(text_of_call(name, {__VA_ARGS__}), std::string(wanted))

TEST(integers_wrap_and_divide_as_python_does) {
  CHECK_OP("-9223372036854775808", "aten::add.int", Value(INT64_MAX), Value(1));
  CHECK_OP("-4", "aten::floordiv.int", Value(-7), Value(2));
  CHECK_OP("2", "aten::remainder.int", Value(-7), Value(3));
  CHECK_OP("-2", "aten::remainder.int", Value(7), Value(-3));
  CHECK_OP("-9223372036854775808", "aten::floordiv.int", Value(kMin), Value(-1));
  CHECK_OP("0", "aten::remainder.int", Value(kMin), Value(-1));
  CHECK_OP("-3", "aten::__round_to_zero_floordiv.int", Value(-7), Value(2));
  CHECK_OP("2", "aten::__lshift__.int", Value(1), Value(65));
  CHECK_OP("3.5", "aten::div.int", Value(7), Value(2));
  CHECK_OP("inf", "aten::div.int", Value(7), Value(0));
  CHECK_RAISES(RuntimeError, "division by 0", call_op("aten::floordiv.int", {Value(7), Value(0)}));
  CHECK_RAISES(RuntimeError, "division by 0", call_op("aten::remainder.int", {Value(7), Value(0)}));
}

TEST(powers) {
  CHECK_OP("0.5", "aten::pow.int", Value(2), Value(-1));
  CHECK_OP("1024", "aten::pow.int_to_int", Value(2), Value(10));
  CHECK_OP("nan", "aten::pow.float", Value(-8.), Value(1. / 3));
  CHECK_RAISES(RuntimeError, "negative power", call_op("aten::pow.int", {Value(0), Value(-1)}));
}

TEST(floats_become_integers) {
  CHECK_OP("-2", "aten::Int.float", Value(-2.5));
  CHECK_OP("-3", "aten::floor.float", Value(-2.5));
  CHECK_OP("-9223372036854775808", "aten::Int.float", Value(NAN));
  CHECK_RAISES(RuntimeError, "Cannot convert", call_op("aten::floor.float", {Value(1e20)}));
  CHECK_OP("2.", "aten::round.float", Value(2.5));
  CHECK_OP("12", "aten::Int.str", Value(" 12"));
  CHECK_RAISES(RuntimeError, "invalid literal", call_op("aten::Int.str", {Value("12a")}));
}

TEST(floats_are_printed_with_seventeen_digits) {
  CHECK_EQ(float_text(1), "1.");
  CHECK_EQ(float_text(-0.0), "0.");
  CHECK_EQ(float_text(0.1), "0.10000000000000001");
  CHECK_EQ(float_text(1e-5), "1.0000000000000001e-05");
  CHECK_EQ(float_text(1e10), "10000000000.");
  CHECK_EQ(float_text(1e19), "1e+19");
  CHECK_EQ(float_text(INFINITY), "inf");
  CHECK_OP("1.+2.5j", "aten::str", Value(std::complex<double>(1, 2.5)));
}

TEST(floats_of_few_places_in_base_two_are_printed_as_all_others) {
  std::vector<double> numbers = {1e9 / 1024, 976562.4990234375, -0.5, 0.0009765625, 0.00048828125};
  for (int k = -5000; k < 5000; k += 7) {
    for (double width : {2., 8., 1024., 2048., 1000.}) numbers.push_back(k * 91 / width);
  }
  for (double number : numbers) {
    char wanted[kFloatText];
    std::snprintf(wanted, sizeof wanted, "%.17g%s", number, number == int64_t(number) ? "." : "");
    CHECK_EQ(float_text(number), std::string(wanted));
  }
}

TEST(numbers_are_read_as_the_c_library_reads_them) {
  for (const char* text : {"0", "7", "007", "12.5", "0.1", "1.", "123456789012345", "1e5", ".5",
                           "3.14159265358979", "9007199254740993", "0.000000000000001",
                           "99999999999999.9", "-2.5", " 4", "123456789.123456789"}) {
    CHECK_EQ(call_op("aten::Float.str", {Value(text)}).as_double(), std::strtod(text, nullptr));
  }
  for (const char* text :
       {"0", "007", "-12", "+3", " 4", "999999999999999", "9223372036854775807"}) {
    CHECK_EQ(call_op("aten::Int.str", {Value(text)}).as_int(), std::strtoll(text, nullptr, 10));
  }
  for (const char* text : {"", "1.5.2", "5a", "a", "1..", "--1"}) {
    CHECK_RAISES(RuntimeError, "could not convert", call_op("aten::Float.str", {Value(text)}));
    CHECK_RAISES(RuntimeError, "invalid literal", call_op("aten::Int.str", {Value(text)}));
  }
}

TEST(letters_change_case_in_texts_of_any_length) {
  std::string all, low, high;
  for (int k = 0; k < 400; ++k) {
    char c = char(k * 37);
    all += c;
    low += c >= 'A' && c <= 'Z' ? char(c + 32) : c;
    high += c >= 'a' && c <= 'z' ? char(c - 32) : c;
  }
  for (size_t size = 0; size < 100; ++size) {
    for (size_t at : {size_t(0), size_t(200)}) {
      Value text(all.substr(at, size));
      CHECK_EQ(text_of_call("aten::lower", {text}), low.substr(at, size));
      CHECK_EQ(text_of_call("aten::upper", {text}), high.substr(at, size));
    }
  }
}

TEST(a_string_grows_at_both_ends) {
  std::string wanted = "begin and end";
  Value text(wanted), other;
  for (int k = 0; k < 300; ++k) {
    std::string piece(size_t(k % 23), char('a' + k % 26));
    Value part(piece), before = text;  // who else has it keeps it
    text.append(text, part);
    CHECK_EQ(text.as_string(), wanted + piece);
    CHECK_EQ(before.as_string(), wanted);
    before.reset();
    other.prepend(part, text);
    CHECK_EQ(other.as_string(), piece + wanted + piece);
    CHECK(text.is_none());
    text = std::move(other);
    wanted = piece + wanted + piece;
    CHECK_EQ(text.as_string().data()[wanted.size()], '\0');
    CHECK(equal(text, Value(wanted)));
  }
}

TEST(a_dict_of_many_strings_finds_them_all) {
  Ref<Dict> dict = Dict::make();
  auto key = [](int k) { return Value(std::string(size_t(k % 40), 'x') + std::to_string(k)); };
  for (int k = 0; k < 3000; ++k) dict->set(key(k), Value(k));
  for (int k = 0; k < 3000; k += 3) CHECK(dict->erase(key(k)));
  for (int k = 0; k < 3000; ++k) {
    Value* found = dict->find(key(k));
    CHECK_EQ(found != nullptr, k % 3 != 0);
    CHECK(!found || found->as_int() == k);
  }
}

TEST(values_are_printed_without_quotes) {
  CHECK_OP("[1, 2.5, a, None, True]", "aten::str",
           list({Value(1), Value(2.5), Value("a"), Value(), Value(true)}));
  CHECK_OP("(1,)", "aten::str", tuple({Value(1)}));
  CHECK_OP("a 1 {} b", "aten::format", Value("{} {} {} b"), Value("a"), Value(1), Value("{}"));
  CHECK_RAISES(RuntimeError, "Too few arguments",
               call_op("aten::format", {Value("{} {}"), Value(1)}));
  CHECK_OP("7 x 1.500000 %", "aten::percentFormat", Value("%d %s %f %%"),
           tuple({Value(7), Value("x"), Value(1.5)}));
  CHECK_RAISES(RuntimeError, "%g is not supported",
               call_op("aten::percentFormat", {Value("%g"), Value(1)}));
}

TEST(tensors_are_printed_as_by_pytorch) {
  Tensor t = Tensor::zeros({2, 3}, ScalarType::Float32);
  t.data<float>()[1] = 1.5f;
  CHECK_EQ(text_of(t), " 0.0000  1.5000  0.0000\n 0.0000  0.0000  0.0000\n[ CPUFloatType{2,3} ]");
  CHECK_EQ(text_of(Tensor::scalar(int64_t(7))), "7\n[ CPULongType{} ]");
  CHECK_EQ(text_of(Tensor::zeros({0}, ScalarType::Bool)), "[ CPUBoolType{0} ]");
}

TEST(strings_are_searched_as_by_pytorch) {
  CHECK_OP("2", "aten::find", Value("abcabc"), Value("c"), Value(0), Value(-1));
  CHECK_OP("5", "aten::find", Value("abcabc"), Value("c"), Value(-3), Value(-1));
  CHECK_OP("3", "aten::rfind", Value("abc"), Value(""), Value(0), Value(-1));
  CHECK_OP("1", "aten::count", Value("abcabc"), Value("c"), Value(0), Value(5));
  CHECK_OP("4", "aten::count", Value("abc"), Value(""), Value(0), Value(-1));
  CHECK_OP("True", "aten::endswith", Value("abc"), Value("bc"), Value(1), Value(3));
  CHECK_RAISES(RuntimeError, "substring not found",
               call_op("aten::index.str", {Value("a"), Value("x"), Value(0), Value(-1)}));
}

TEST(strings_are_cut_and_joined) {
  CHECK_OP("[a, b, c]", "aten::split.str", Value("  a b  c "), Value(), Value(1));
  CHECK_OP("[a, b,,c]", "aten::split.str", Value("a,b,,c"), Value(","), Value(1));
  CHECK_OP("[a,b, c]", "aten::rsplit", Value("a,b,c"), Value(","), Value(1));
  CHECK_OP("[a, b, , c]", "aten::splitlines", Value("a\nb\r\nc\n"), Value(false));
  CHECK_OP("xx", "aten::rstrip", Value("xxab"), Value("ab"));
  CHECK_OP("bba", "aten::replace", Value("aaa"), Value("a"), Value("b"), Value(2));
  CHECK_OP("-a-b-", "aten::replace", Value("ab"), Value(""), Value("-"), Value(-1));
  CHECK_OP("**ab*", "aten::center", Value("ab"), Value(5), Value("*"));
  CHECK_OP("000-5", "aten::zfill", Value("-5"), Value(5));
  CHECK_OP("a   b", "aten::expandtabs", Value("a\tb"), Value(4));
  CHECK_OP("edc", "aten::slice.str", Value("abcdef"), Value(4), Value(1), Value(-1));
  CHECK_OP("Hello World It'S", "aten::title", Value("hello wORLD it's"));
  CHECK_RAISES(RuntimeError, "empty separator",
               call_op("aten::split.str", {Value("a"), Value(""), Value(-1)}));
}

TEST(a_width_that_no_memory_holds_is_refused) {
  CHECK_RAISES(MemoryError, "", call_op("aten::zfill", {Value("x"), Value(INT64_MAX)}));
}

TEST(lists_are_indexed_and_sliced) {
  Value l = list({Value(1), Value(2), Value(3), Value(4), Value(5)});
  CHECK_OP("5", "aten::__getitem__.t", l, Value(-1));
  CHECK_RAISES(IndexError, "list index out of range",
               call_op("aten::__getitem__.t", {l, Value(5)}));
  CHECK_OP("[5, 3]", "aten::slice.t", l, Value(4), Value(0), Value(-2));
  CHECK_OP("[4, 5]", "aten::slice.t", l, Value(-2), Value(), Value(1));
  CHECK_OP("[]", "aten::slice.t", l, Value(10), Value(20), Value(1));
  CHECK_OP("[1]", "aten::slice.t", l, Value(), Value(), Value(INT64_MAX));
  CHECK_OP("[1, 2, 1, 2]", "aten::mul.left_t", list({Value(1), Value(2)}), Value(2));
  CHECK_RAISES(MemoryError, "", call_op("aten::mul.left_t", {l, Value(int64_t(1) << 50)}));
}

TEST(lists_change_in_place) {
  Value l = list({Value(3), Value(1), Value(2)});
  call_op("aten::append.t", {l, Value(0)});
  call_op("aten::sort.int", {l, Value(false)});
  CHECK_EQ(text_of(l), "[0, 1, 2, 3]");
  call_op("aten::extend.t", {l, l});
  CHECK_EQ(text_of(l), "[0, 1, 2, 3, 0, 1, 2, 3]");
  call_op("aten::remove.int", {l, Value(2)});
  CHECK_OP("3", "aten::pop.t", l, Value(-1));
  CHECK_EQ(text_of(l), "[0, 1, 3, 0, 1, 2]");
  CHECK_RAISES(IndexError, "pop from empty", call_op("aten::pop.t", {list({}), Value(-1)}));
}

TEST(a_list_with_nan_sorts_without_harm) {
  std::vector<Value> items;
  for (int k = 0; k < 100; ++k) items.emplace_back(k % 3 ? double(k * 37 % 11) : NAN);
  Value l = list(items);
  call_op("aten::sort.float", {l, Value(true)});
  CHECK_EQ(l.as_list().size(), 100u);
}

TEST(dicts_keep_their_order) {
  Ref<Dict> d = Dict::make();
  for (int k = 0; k < 1000; ++k) d->set(Value(k * 7 % 1000), Value(k));
  for (int k = 0; k < 1000; k += 2) d->erase(Value(k));
  CHECK_EQ(d->size(), 500);
  CHECK_EQ(d->find(Value(7))->as_int(), 1);
  CHECK(d->find(Value(14)) == nullptr);
  for (int k = 0; k < 1000; k += 2) d->set(Value(k), Value(-k));
  CHECK_EQ(d->size(), 1000);
  const Dict::Entry* entry;
  size_t cursor = 0;
  d->next(&cursor, &entry);
  CHECK_EQ(entry->key.as_int(), 7);
}

TEST(strings_of_up_to_seven_bytes_lie_in_their_value) {
  memory::LimitScope limit(0);  // they are charged with nothing
  const std::string letters("ab\0defg", kInlineText);
  for (size_t size = 0; size <= kInlineText; ++size) {
    const std::string wanted = letters.substr(0, size);
    const Value text(wanted);
    CHECK(text.is_text() && text.is_string() && text.as_string() == wanted);
    CHECK_EQ(text.as_string().data()[size], '\0');
    for (size_t cut = 0; cut <= size; ++cut) {
      CHECK(text.same(Value::of_text(wanted.substr(0, cut), wanted.substr(cut))));
    }
    CHECK(size == 0 || !text.same(Value(wanted.substr(1))));
  }
  const Value last = Value::of_digits(9999999), below = Value::of_digits(-999999), none("");
  CHECK(last.is_text() && last.as_string() == "9999999");
  CHECK(below.is_text() && below.as_string() == "-999999");
  CHECK(none.is_text() && none.as_string().empty() && equal(none, Value(std::string())));
  CHECK(!none.same(Value(std::string(1, '\0'))) && !equal(none, Value(0)));
}

TEST(short_strings_are_shared_and_charged_once) {
  const int64_t each = charged_bytes(8);
  memory::LimitScope limit(5000 * each);
  Value first = Value::of_text("one word"), second = Value::of_text("one ", "word");
  CHECK(first.same(second));
  std::vector<Value> many;
  auto numbered = [](int k) { return Value::of_text("number ", std::to_string(k)); };
  for (int k = 0; k < 5000; ++k) many.push_back(numbered(k));
  for (int k = 0; k < 5000; ++k) {
    CHECK_EQ(many[size_t(k)].as_string(), "number " + std::to_string(k));
  }
  auto more = [&] {
    for (int k = 0; k < 2000; ++k) many.push_back(Value::of_text("another ", std::to_string(k)));
  };
  CHECK_RAISES(MemoryError, "memory limit", more());
  many.clear();
  Value zeros(std::string(3, '\0')), fewer(std::string(2, '\0'));
  CHECK(!equal(zeros, fewer) && equal(zeros, Value(std::string(3, '\0'))));
  std::string letters = "abcdefghijklmnopqrstuvwxyz";
  for (size_t a = 0; a < 20; ++a) {
    for (size_t b = 0; b < 20; ++b) {
      std::string x = letters.substr(0, a), y = x;
      CHECK(equal(Value(x), Value(y)));
      if (b < a) y[b] = '!';
      CHECK_EQ(equal(Value(x), Value(y)), x == y);
    }
  }
}

TEST(a_string_that_grows_is_charged_with_all_of_it) {
  memory::LimitScope limit(1000 + 25 * charged_bytes(0));
  for (int turn = 0; turn < 200; ++turn) {  // what is given back is what was charged
    Value text = Value::of_text("turn ", std::to_string(turn));
    for (int k = 0; k < 20; ++k) {
      std::vector<Value> given(2, Value("part"));
      given[0] = std::move(text);  // nobody else has it: it grows where it is
      text = call_op("aten::add.str", std::move(given));
    }
    CHECK_EQ(text.as_string().size(), 85 + std::to_string(turn).size());
  }
  CHECK_RAISES(MemoryError, "memory limit",
               call_op("aten::ljust", {Value("a"), Value(3001), Value(" ")}));
  Value most = call_op("aten::ljust", {Value("a"), Value(1500), Value(" ")});
  CHECK_RAISES(MemoryError, "memory limit", call_op("aten::add.str", {most, Value("bb")}));
}

TEST(what_leaves_a_run_is_no_longer_its_own) {
  Value shared = list({}), dict(Dict::make());
  memory::RunScope run(true);
  Value text("a text that is not short"), word = Value::of_text("one word");
  Value pair(Tuple::make({text, word})), inner = list({pair}), other = list({word});
  CHECK(text.raw_string().is_thread_local() && word.raw_string().is_thread_local());
  CHECK(pair.as_tuple().is_thread_local() && inner.as_list().is_thread_local());
  shared.as_list().push(inner);
  CHECK(!inner.as_list().is_thread_local() && !pair.as_tuple().is_thread_local());
  CHECK(!text.raw_string().is_thread_local() && !word.raw_string().is_thread_local());
  CHECK(other.as_list().is_thread_local());
  Value key = Value::of_text("some key"), late = Value::of_text("too late"),
        last = Value::of_text("the last");
  dict.as_dict().set(key, other);
  CHECK(!key.raw_string().is_thread_local() && !other.as_list().is_thread_local());
  other.as_list().push(late);
  CHECK(!late.raw_string().is_thread_local());
  Value own = list({last});
  other.as_list().extend(own.as_list());
  CHECK(!last.raw_string().is_thread_local() && own.as_list().is_thread_local());
  Value fresh = Value::of_text("as fresh");
  own.as_list().push(fresh);
  other.as_list().swap(own.as_list());
  CHECK(!fresh.raw_string().is_thread_local());
  memory::RunScope outside(false);
  CHECK(Value::of_text("kept here").same(Value::of_text("kept here")));
  CHECK(!Value::of_text("kept here").raw_string().is_thread_local());
}

TEST(a_string_kept_by_its_thread_is_not_a_runs_own_outside_of_it) {
  {
    memory::RunScope run(true);
    CHECK(Value::of_text("of a run").raw_string().is_thread_local());
  }
  CHECK(!Value::of_text("of a run").raw_string().is_thread_local());
}

TEST(a_dict_finds_again_what_it_found_last) {
  Value made(Dict::make());
  Dict& dict = made.as_dict();
  double nan = std::nan("");
  dict.set(Value(nan), Value(1));
  CHECK(!dict.find(Value(nan)));
  for (int k = 0; k < 50; ++k) dict.set(Value(k), Value(k));
  for (int k = 0; k < 50; ++k) {
    CHECK_EQ(dict.find(Value(k))->as_int(), k);
    CHECK_EQ(dict.find(Value(double(k)))->as_int(), k);
    CHECK(dict.erase(Value(k)) && !dict.find(Value(k)));
    dict.set(Value(k), Value(-k));
    CHECK_EQ(dict.find(Value(k))->as_int(), -k);
  }
  dict.clear();
  CHECK(!dict.find(Value(49)));
}

TEST(dicts_find_pop_and_miss) {
  Ref<Dict> made = Dict::make();
  made->set(Value("a"), Value(1));
  Value d = made;
  CHECK_OP("1", "aten::__getitem__.Dict_str", d, Value("a"));
  CHECK_RAISES(KeyError, "'b'", call_op("aten::__getitem__.Dict_str", {d, Value("b")}));
  CHECK_OP("5", "aten::get.default_str", d, Value("b"), Value(5));
  CHECK_OP("[(a, 1)]", "aten::items.str", d);
  CHECK_OP("1", "aten::pop.Dict_str", d, Value("a"));
  CHECK_RAISES(RuntimeError, "empty", call_op("aten::popitem.str", {d}));
  CHECK_RAISES(RuntimeError, "hash", made->set(list({}), Value(1)));
}

TEST(ranges_have_a_length) {
  CHECK_OP("4", "aten::__range_length", Value(0), Value(10), Value(3));
  CHECK_OP("4", "aten::__range_length", Value(10), Value(0), Value(-3));
  CHECK_OP("0", "aten::__range_length", Value(0), Value(-1), Value(1));
  CHECK_OP("1", "aten::__range_length", Value(5), Value(0), Value(kMin));
  CHECK_RAISES(RuntimeError, "must not be zero",
               call_op("aten::__range_length", {Value(0), Value(1), Value(0)}));
}

TEST(bools_are_zero_or_one) {
  Tensor bytes = Tensor::zeros({3}, ScalarType::UInt8);
  CHECK_OP("11", "prim::dtype", call_op("aten::view.dtype", {Value(bytes), Value(11)}));
  bytes.data<uint8_t>()[1] = 200;
  CHECK_RAISES(RuntimeError, "0 or 1", call_op("aten::view.dtype", {Value(bytes), Value(11)}));
  for (int64_t size : {3, 100000}) {  // of memory that had other contents before
    Tensor before = Tensor::empty({size}, ScalarType::UInt8);
    std::memset(before.raw(), 200, size_t(size));
    before = Tensor();
    Value sizes = List::make({Value(size)});
    Value made = call_op("aten::empty.memory_format", {sizes, Value(11), {}, {}, {}, {}});
    const char* at = static_cast<const char*>(made.as_tensor().raw());
    CHECK(std::all_of(at, at + size, [](char b) { return b == 0 || b == 1; }));
  }
}

TEST(histograms_of_what_overflows) {
  Tensor x = Tensor::zeros({2}, ScalarType::Float32);
  x.data<float>()[0] = 2e38f;
  Value counts = call_op("aten::histc", {Value(x), Value(100), Value(0.0), Value(3e38)});
  CHECK_EQ(counts.as_tensor().data<float>()[0], 2.0f);
}

TEST(every_schema_parses_and_its_defaults_fit_its_types) {
  for (int k = 0; k < op_count(); ++k) {
    const Schema& schema = schema_of(op_at(k));
    for (const Argument& a : schema.arguments) {
      if (!a.has_default) continue;
      TagSet accepted = tags_of(*a.type);
      if (accepted & tag_bit(Tag::Double)) accepted |= tag_bit(Tag::Int);
      if (!(accepted & tag_bit(a.default_value.tag()))) test::fail(op_at(k).text(), 0, a.name);
    }
  }
}

TEST(the_table_is_sorted) {
  for (int k = 1; k < op_count(); ++k) {
    CHECK(op_at(k - 1).qualified_name() < op_at(k).qualified_name());
  }
}

int main(int count, char** arguments) { return test::main(count, arguments); }
