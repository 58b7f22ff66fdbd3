// The table of operators that are lowered to steps instead of calls.
#include "select.h"

#include <string_view>
#include <unordered_map>

namespace scriptlang::lower {

namespace {

using Op = StepOp;

#define SL_MIXED(name, step)                                               \
  {"aten::" name ".float", RuleKind::Binary, Op::step, "ff", 'f'},         \
      {"aten::" name ".int_float", RuleKind::Binary, Op::step, "nf", 'f'}, \
      {"aten::" name ".float_int", RuleKind::Binary, Op::step, "fn", 'f'}
#define SL_ORDER(name, step)                                                        \
  {"aten::" name ".int", RuleKind::Compare, Op::step##_INT, "ii", 'b'},             \
      {"aten::" name ".float", RuleKind::Compare, Op::step##_FLOAT, "ff", 'b'},     \
      {"aten::" name ".int_float", RuleKind::Compare, Op::step##_FLOAT, "nf", 'b'}, \
      {"aten::" name ".float_int", RuleKind::Compare, Op::step##_FLOAT, "fn", 'b'}, \
      {"aten::" name, RuleKind::Numbers, Op::step##_INT, "--", 'b'}
#define SL_FUNCTION(name)                                                                \
  {"aten::" #name ".float", RuleKind::FloatCall, Op::FLOAT_CALL, "f", 'f', std::name}, { \
    "aten::" #name ".int", RuleKind::FloatCall, Op::FLOAT_CALL, "n", 'f', std::name      \
  }
#define SL_FUNCTION_TWO(name) \
  {"aten::" #name ".float",   \
   RuleKind::FloatCallTwo,    \
   Op::FLOAT_CALL_TWO,        \
   "ff",                      \
   'f',                       \
   nullptr,                   \
   std::name}
#define SL_DICT_RULES(key)                                                          \
  {"aten::__getitem__.Dict_" key, RuleKind::DictGet, Op::DICT_GET, "--", '-'},      \
      {"aten::get.default_" key, RuleKind::DictGetOr, Op::DICT_GET_OR, "---", '-'}, \
      {"aten::__contains__." key, RuleKind::DictHas, Op::DICT_HAS, "--", 'b'},      \
      {"aten::_set_item." key, RuleKind::DictSet, Op::DICT_SET, "---", '-'},        \
      {"aten::len.Dict_" key, RuleKind::Length, Op::DICT_LEN, "-", 'i'}
#define SL_BORROWED(name, result) {"aten::" name, RuleKind::Borrowed, Op::OP_BORROWED, "", result}
#define SL_BORROWED_LISTS(name, result)                                         \
  SL_BORROWED(name "int_list", result), SL_BORROWED(name "float_list", result), \
      SL_BORROWED(name "bool_list", result), SL_BORROWED(name "str_list", result)
#define SL_BORROWED_DICTS(name)                                                               \
  SL_BORROWED(name "str", '-'), SL_BORROWED(name "int", '-'), SL_BORROWED(name "float", '-'), \
      SL_BORROWED(name "bool", '-')

const Rule kRules[] = {
    {"aten::add.int", RuleKind::Binary, Op::ADD_INT, "ii", 'i'},
    {"aten::sub.int", RuleKind::Binary, Op::SUB_INT, "ii", 'i'},
    {"aten::mul.int", RuleKind::Binary, Op::MUL_INT, "ii", 'i'},
    {"aten::floordiv.int", RuleKind::Binary, Op::FLOORDIV_INT, "ii", 'i'},
    {"aten::remainder.int", RuleKind::Binary, Op::MOD_INT, "ii", 'i'},
    {"aten::div.int", RuleKind::Binary, Op::DIV_INT, "ii", 'f'},
    {"aten::__and__.int", RuleKind::Binary, Op::AND_INT, "ii", 'i'},
    {"aten::__or__.int", RuleKind::Binary, Op::OR_INT, "ii", 'i'},
    {"aten::__xor__.int", RuleKind::Binary, Op::XOR_INT, "ii", 'i'},
    {"aten::__lshift__.int", RuleKind::Binary, Op::SHL_INT, "ii", 'i'},
    {"aten::__rshift__.int", RuleKind::Binary, Op::SHR_INT, "ii", 'i'},
    {"prim::min.int", RuleKind::Binary, Op::MIN_INT, "ii", 'i'},
    {"prim::max.int", RuleKind::Binary, Op::MAX_INT, "ii", 'i'},
    {"prim::min.float", RuleKind::Binary, Op::MIN_FLOAT, "ff", 'f'},
    {"prim::max.float", RuleKind::Binary, Op::MAX_FLOAT, "ff", 'f'},
    SL_MIXED("add", ADD_FLOAT),
    SL_MIXED("sub", SUB_FLOAT),
    SL_MIXED("mul", MUL_FLOAT),
    SL_MIXED("floordiv", FLOORDIV_FLOAT),
    SL_MIXED("remainder", MOD_FLOAT),
    SL_MIXED("pow", POW_FLOAT),
    {"aten::pow.int", RuleKind::Binary, Op::POW_FLOAT, "nn", 'f'},
    {"aten::div.float", RuleKind::Binary, Op::DIV_FLOAT, "ff", 'f'},
    {"aten::add", RuleKind::Numbers, Op::ADD_INT, "--", '-'},
    {"aten::sub", RuleKind::Numbers, Op::SUB_INT, "--", '-'},
    {"aten::mul", RuleKind::Numbers, Op::MUL_INT, "--", '-'},
    {"aten::div", RuleKind::Numbers, Op::DIV_INT, "--", '-'},
    {"aten::floordiv", RuleKind::Numbers, Op::FLOORDIV_INT, "--", '-'},
    {"aten::remainder", RuleKind::Numbers, Op::MOD_INT, "--", '-'},
    {"aten::__and__.bool", RuleKind::Binary, Op::AND_BOOL, "bb", 'b'},
    {"aten::__or__.bool", RuleKind::Binary, Op::OR_BOOL, "bb", 'b'},
    {"aten::__xor__.bool", RuleKind::Binary, Op::NE_BOOL, "bb", 'b'},
    {"aten::ne.bool", RuleKind::Binary, Op::NE_BOOL, "bb", 'b'},
    {"aten::eq.bool", RuleKind::Binary, Op::EQ_BOOL, "bb", 'b'},
    {"aten::__not__", RuleKind::Unary, Op::NOT_BOOL, "b", 'b'},
    SL_ORDER("lt", LT),
    SL_ORDER("le", LE),
    SL_ORDER("gt", GT),
    SL_ORDER("ge", GE),
    SL_ORDER("eq", EQ),
    SL_ORDER("ne", NE),
    {"aten::neg.int", RuleKind::Unary, Op::NEG_INT, "i", 'i'},
    {"aten::neg.float", RuleKind::Unary, Op::NEG_FLOAT, "f", 'f'},
    {"prim::abs.int", RuleKind::Unary, Op::ABS_INT, "i", 'i'},
    {"prim::abs.float", RuleKind::Unary, Op::ABS_FLOAT, "f", 'f'},
    {"aten::Bool.int", RuleKind::Unary, Op::INT_TO_BOOL, "i", 'b'},
    {"aten::Bool.float", RuleKind::Unary, Op::FLOAT_TO_BOOL, "f", 'b'},
    {"aten::Int.bool", RuleKind::Unary, Op::BOOL_TO_INT, "b", 'i'},
    {"aten::Int.float", RuleKind::Unary, Op::FLOAT_TO_INT, "f", 'i'},
    {"aten::Float.int", RuleKind::Unary, Op::INT_TO_FLOAT, "i", 'f'},
    {"aten::Float.Scalar", RuleKind::Convert, Op::INT_TO_FLOAT, "-", 'f'},
    {"aten::Int.Scalar", RuleKind::Convert, Op::TO_INT, "-", 'i'},
    {"aten::Float.bool", RuleKind::Unary, Op::BOOL_TO_FLOAT, "b", 'f'},
    {"aten::sqrt.float", RuleKind::Unary, Op::SQRT_FLOAT, "f", 'f'},
    {"aten::sqrt.int", RuleKind::Unary, Op::SQRT_FLOAT, "n", 'f'},
    {"aten::floor.float", RuleKind::Unary, Op::FLOOR, "f", 'i'},
    {"aten::ceil.float", RuleKind::Unary, Op::CEIL, "f", 'i'},
    SL_FUNCTION(exp),
    SL_FUNCTION(log),
    SL_FUNCTION(log10),
    SL_FUNCTION(sin),
    SL_FUNCTION(cos),
    SL_FUNCTION(tan),
    SL_FUNCTION(asin),
    SL_FUNCTION(acos),
    SL_FUNCTION(atan),
    SL_FUNCTION(sinh),
    SL_FUNCTION(cosh),
    SL_FUNCTION(tanh),
    SL_FUNCTION(expm1),
    SL_FUNCTION(log1p),
    SL_FUNCTION(erf),
    SL_FUNCTION(erfc),
    SL_FUNCTION(fabs),
    SL_FUNCTION_TWO(atan2),
    SL_FUNCTION_TWO(fmod),
    SL_FUNCTION_TWO(copysign),
    {"aten::__derive_index", RuleKind::DeriveIndex, Op::DERIVE_INDEX, "iii", 'i'},
    {"aten::__range_length", RuleKind::RangeLength, Op::RANGE_LENGTH, "iii", 'i'},
    {"aten::len.t", RuleKind::Length, Op::LIST_LEN, "-", 'i'},
    {"aten::len.str", RuleKind::Length, Op::STRING_LEN, "-", 'i'},
    {"aten::__getitem__.t", RuleKind::ListGet, Op::LIST_GET, "-i", '-'},
    {"aten::_set_item.t", RuleKind::ListSet, Op::LIST_SET, "-i-", '-'},
    {"aten::append.t", RuleKind::ListAppend, Op::LIST_APPEND, "--", '-'},
    {"aten::__getitem__.str", RuleKind::StringAt, Op::STRING_AT, "-i", '-'},
    {"aten::slice.str", RuleKind::StringSlice, Op::STRING_SLICE, "----", '-'},
    {"aten::add.str", RuleKind::StringAdd, Op::STRING_ADD, "--", '-'},
    {"aten::eq.str", RuleKind::StringEqual, Op::STRING_EQ, "--", 'b'},
    {"aten::ne.str", RuleKind::StringEqual, Op::STRING_NE, "--", 'b'},
    {"aten::lt.str", RuleKind::StringOrder, Op::STRING_LT, "--", 'b'},
    {"aten::le.str", RuleKind::StringOrder, Op::STRING_LE, "--", 'b'},
    {"aten::gt.str", RuleKind::StringOrder, Op::STRING_GT, "--", 'b'},
    {"aten::ge.str", RuleKind::StringOrder, Op::STRING_GE, "--", 'b'},
    {"aten::ord", RuleKind::Length, Op::ORD, "-", 'i'},
    {"aten::chr", RuleKind::ToText, Op::CHR, "-", '-'},
    {"aten::str", RuleKind::ToText, Op::STR, "-", '-'},
    SL_DICT_RULES("str"),
    SL_DICT_RULES("int"),
    SL_DICT_RULES("float"),
    SL_DICT_RULES("bool"),
    SL_BORROWED("isalnum", 'b'),
    SL_BORROWED("isalpha", 'b'),
    SL_BORROWED("isdecimal", 'b'),
    SL_BORROWED("isdigit", 'b'),
    SL_BORROWED("isidentifier", 'b'),
    SL_BORROWED("islower", 'b'),
    SL_BORROWED("isnumeric", 'b'),
    SL_BORROWED("isprintable", 'b'),
    SL_BORROWED("isspace", 'b'),
    SL_BORROWED("istitle", 'b'),
    SL_BORROWED("isupper", 'b'),
    SL_BORROWED("startswith", 'b'),
    SL_BORROWED("endswith", 'b'),
    SL_BORROWED("Int.str", 'i'),
    SL_BORROWED("Float.str", 'f'),
    SL_BORROWED("find", 'i'),
    SL_BORROWED("rfind", 'i'),
    SL_BORROWED("count", 'i'),
    SL_BORROWED("split.str", '-'),
    SL_BORROWED("rsplit", '-'),
    SL_BORROWED("splitlines", '-'),
    SL_BORROWED("join", '-'),
    SL_BORROWED("replace", '-'),
    SL_BORROWED("strip", '-'),
    SL_BORROWED("lstrip", '-'),
    SL_BORROWED("rstrip", '-'),
    SL_BORROWED("upper", '-'),
    SL_BORROWED("lower", '-'),
    SL_BORROWED("title", '-'),
    SL_BORROWED("capitalize", '-'),
    SL_BORROWED("list", '-'),
    SL_BORROWED("slice.t", '-'),
    SL_BORROWED("add.t", '-'),
    SL_BORROWED("list.t", '-'),
    {"aten::pop.t", RuleKind::Changes, Op::OP_BORROWED, "", '-'},
    SL_BORROWED_LISTS("__contains__.", 'b'),
    SL_BORROWED_LISTS("eq.", 'b'),
    SL_BORROWED_LISTS("ne.", 'b'),
    SL_BORROWED_DICTS("keys."),
    SL_BORROWED_DICTS("values."),
    SL_BORROWED_DICTS("items."),
    {"prim::unchecked_cast", RuleKind::Same, Op::COPY, "-", '-'},
};

}  // namespace

const Rule* rule_of(const std::string& name) {
  static const auto* by_name = [] {
    auto* table = new std::unordered_map<std::string_view, const Rule*>;
    for (const Rule& rule : kRules) table->emplace(rule.name, &rule);
    return table;
  }();
  auto it = by_name->find(name);
  return it == by_name->end() ? nullptr : it->second;
}

}  // namespace scriptlang::lower
