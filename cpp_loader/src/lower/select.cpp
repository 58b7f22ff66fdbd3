#include "select.h"

#include <string_view>
#include <unordered_map>

namespace scriptlang::lower {

namespace {

using Op = StepOp;

#define SL_MIXED(name, step)                                          \
  {"aten::" name ".float", Form::Binary, Op::step, "ff", 'f'},        \
  {"aten::" name ".int_float", Form::Binary, Op::step, "nf", 'f'},    \
  {"aten::" name ".float_int", Form::Binary, Op::step, "fn", 'f'}
#define SL_ORDER(name, step)                                                 \
  {"aten::" name ".int", Form::Compare, Op::step##_INT, "ii", 'b'},          \
  {"aten::" name ".float", Form::Compare, Op::step##_FLOAT, "ff", 'b'},      \
  {"aten::" name ".int_float", Form::Compare, Op::step##_FLOAT, "nf", 'b'},  \
  {"aten::" name ".float_int", Form::Compare, Op::step##_FLOAT, "fn", 'b'},  \
  {"aten::" name, Form::Numbers, Op::step##_INT, "--", 'b'}
#define SL_FUNCTION(name)                                                            \
  {"aten::" #name ".float", Form::FloatCall, Op::FLOAT_CALL, "f", 'f', std::name},   \
  {"aten::" #name ".int", Form::FloatCall, Op::FLOAT_CALL, "n", 'f', std::name}
#define SL_FUNCTION_TWO(name)                                                        \
  {"aten::" #name ".float", Form::FloatCallTwo, Op::FLOAT_CALL_TWO, "ff", 'f', nullptr, \
   std::name}
#define SL_DICT_RULES(key)                                                           \
  {"aten::__getitem__.Dict_" key, Form::DictGet, Op::DICT_GET, "--", '-'},           \
  {"aten::get.default_" key, Form::DictGetOr, Op::DICT_GET_OR, "---", '-'},          \
  {"aten::__contains__." key, Form::DictHas, Op::DICT_HAS, "--", 'b'},               \
  {"aten::_set_item." key, Form::DictSet, Op::DICT_SET, "---", '-'},                 \
  {"aten::len.Dict_" key, Form::Length, Op::DICT_LEN, "-", 'i'}
#define SL_LENT(name, result) {"aten::" name, Form::Lent, Op::OP_LENT, "", result}
#define SL_LENT_LISTS(name, result)                                                  \
  SL_LENT(name "int_list", result), SL_LENT(name "float_list", result),              \
  SL_LENT(name "bool_list", result), SL_LENT(name "str_list", result)
#define SL_LENT_DICTS(name)                                                          \
  SL_LENT(name "str", '-'), SL_LENT(name "int", '-'), SL_LENT(name "float", '-'),    \
  SL_LENT(name "bool", '-')

const Rule kRules[] = {
    {"aten::add.int", Form::Binary, Op::ADD_INT, "ii", 'i'},
    {"aten::sub.int", Form::Binary, Op::SUB_INT, "ii", 'i'},
    {"aten::mul.int", Form::Binary, Op::MUL_INT, "ii", 'i'},
    {"aten::floordiv.int", Form::Binary, Op::FLOORDIV_INT, "ii", 'i'},
    {"aten::remainder.int", Form::Binary, Op::MOD_INT, "ii", 'i'},
    {"aten::div.int", Form::Binary, Op::DIV_INT, "ii", 'f'},
    {"aten::__and__.int", Form::Binary, Op::AND_INT, "ii", 'i'},
    {"aten::__or__.int", Form::Binary, Op::OR_INT, "ii", 'i'},
    {"aten::__xor__.int", Form::Binary, Op::XOR_INT, "ii", 'i'},
    {"aten::__lshift__.int", Form::Binary, Op::SHL_INT, "ii", 'i'},
    {"aten::__rshift__.int", Form::Binary, Op::SHR_INT, "ii", 'i'},
    {"prim::min.int", Form::Binary, Op::MIN_INT, "ii", 'i'},
    {"prim::max.int", Form::Binary, Op::MAX_INT, "ii", 'i'},
    {"prim::min.float", Form::Binary, Op::MIN_FLOAT, "ff", 'f'},
    {"prim::max.float", Form::Binary, Op::MAX_FLOAT, "ff", 'f'},
    SL_MIXED("add", ADD_FLOAT),
    SL_MIXED("sub", SUB_FLOAT),
    SL_MIXED("mul", MUL_FLOAT),
    SL_MIXED("floordiv", FLOORDIV_FLOAT),
    SL_MIXED("remainder", MOD_FLOAT),
    SL_MIXED("pow", POW_FLOAT),
    {"aten::pow.int", Form::Binary, Op::POW_FLOAT, "nn", 'f'},
    {"aten::div.float", Form::Binary, Op::DIV_FLOAT, "ff", 'f'},
    {"aten::add", Form::Numbers, Op::ADD_INT, "--", '-'},
    {"aten::sub", Form::Numbers, Op::SUB_INT, "--", '-'},
    {"aten::mul", Form::Numbers, Op::MUL_INT, "--", '-'},
    {"aten::div", Form::Numbers, Op::DIV_INT, "--", '-'},
    {"aten::floordiv", Form::Numbers, Op::FLOORDIV_INT, "--", '-'},
    {"aten::remainder", Form::Numbers, Op::MOD_INT, "--", '-'},
    {"aten::__and__.bool", Form::Binary, Op::AND_BOOL, "bb", 'b'},
    {"aten::__or__.bool", Form::Binary, Op::OR_BOOL, "bb", 'b'},
    {"aten::__xor__.bool", Form::Binary, Op::NE_BOOL, "bb", 'b'},
    {"aten::ne.bool", Form::Binary, Op::NE_BOOL, "bb", 'b'},
    {"aten::eq.bool", Form::Binary, Op::EQ_BOOL, "bb", 'b'},
    {"aten::__not__", Form::Unary, Op::NOT_BOOL, "b", 'b'},
    SL_ORDER("lt", LT),
    SL_ORDER("le", LE),
    SL_ORDER("gt", GT),
    SL_ORDER("ge", GE),
    SL_ORDER("eq", EQ),
    SL_ORDER("ne", NE),
    {"aten::neg.int", Form::Unary, Op::NEG_INT, "i", 'i'},
    {"aten::neg.float", Form::Unary, Op::NEG_FLOAT, "f", 'f'},
    {"prim::abs.int", Form::Unary, Op::ABS_INT, "i", 'i'},
    {"prim::abs.float", Form::Unary, Op::ABS_FLOAT, "f", 'f'},
    {"aten::Bool.int", Form::Unary, Op::INT_TO_BOOL, "i", 'b'},
    {"aten::Bool.float", Form::Unary, Op::FLOAT_TO_BOOL, "f", 'b'},
    {"aten::Int.bool", Form::Unary, Op::BOOL_TO_INT, "b", 'i'},
    {"aten::Int.float", Form::Unary, Op::FLOAT_TO_INT, "f", 'i'},
    {"aten::Float.int", Form::Unary, Op::INT_TO_FLOAT, "i", 'f'},
    {"aten::Float.Scalar", Form::Convert, Op::INT_TO_FLOAT, "-", 'f'},
    {"aten::Int.Scalar", Form::Convert, Op::TO_INT, "-", 'i'},
    {"aten::Float.bool", Form::Unary, Op::BOOL_TO_FLOAT, "b", 'f'},
    {"aten::sqrt.float", Form::Unary, Op::SQRT_FLOAT, "f", 'f'},
    {"aten::sqrt.int", Form::Unary, Op::SQRT_FLOAT, "n", 'f'},
    {"aten::floor.float", Form::Unary, Op::FLOOR, "f", 'i'},
    {"aten::ceil.float", Form::Unary, Op::CEIL, "f", 'i'},
    SL_FUNCTION(exp), SL_FUNCTION(log), SL_FUNCTION(log10), SL_FUNCTION(sin), SL_FUNCTION(cos),
    SL_FUNCTION(tan), SL_FUNCTION(asin), SL_FUNCTION(acos), SL_FUNCTION(atan), SL_FUNCTION(sinh),
    SL_FUNCTION(cosh), SL_FUNCTION(tanh), SL_FUNCTION(expm1), SL_FUNCTION(log1p),
    SL_FUNCTION(erf), SL_FUNCTION(erfc), SL_FUNCTION(fabs),
    SL_FUNCTION_TWO(atan2), SL_FUNCTION_TWO(fmod), SL_FUNCTION_TWO(copysign),
    {"aten::__derive_index", Form::DeriveIndex, Op::DERIVE_INDEX, "iii", 'i'},
    {"aten::__range_length", Form::RangeLength, Op::RANGE_LENGTH, "iii", 'i'},
    {"aten::len.t", Form::Length, Op::LIST_LEN, "-", 'i'},
    {"aten::len.str", Form::Length, Op::STRING_LEN, "-", 'i'},
    {"aten::__getitem__.t", Form::ListGet, Op::LIST_GET, "-i", '-'},
    {"aten::_set_item.t", Form::ListSet, Op::LIST_SET, "-i-", '-'},
    {"aten::append.t", Form::ListAppend, Op::LIST_APPEND, "--", '-'},
    {"aten::__getitem__.str", Form::StringAt, Op::STRING_AT, "-i", '-'},
    {"aten::slice.str", Form::StringSlice, Op::STRING_SLICE, "----", '-'},
    {"aten::add.str", Form::StringAdd, Op::STRING_ADD, "--", '-'},
    {"aten::eq.str", Form::StringEqual, Op::STRING_EQ, "--", 'b'},
    {"aten::ne.str", Form::StringEqual, Op::STRING_NE, "--", 'b'},
    {"aten::lt.str", Form::StringOrder, Op::STRING_LT, "--", 'b'},
    {"aten::le.str", Form::StringOrder, Op::STRING_LE, "--", 'b'},
    {"aten::gt.str", Form::StringOrder, Op::STRING_GT, "--", 'b'},
    {"aten::ge.str", Form::StringOrder, Op::STRING_GE, "--", 'b'},
    {"aten::ord", Form::Length, Op::ORD, "-", 'i'},
    {"aten::chr", Form::ToText, Op::CHR, "-", '-'},
    {"aten::str", Form::ToText, Op::STR, "-", '-'},
    SL_DICT_RULES("str"),
    SL_DICT_RULES("int"),
    SL_DICT_RULES("float"),
    SL_DICT_RULES("bool"),
    SL_LENT("isalnum", 'b'), SL_LENT("isalpha", 'b'), SL_LENT("isdecimal", 'b'),
    SL_LENT("isdigit", 'b'), SL_LENT("isidentifier", 'b'), SL_LENT("islower", 'b'),
    SL_LENT("isnumeric", 'b'), SL_LENT("isprintable", 'b'), SL_LENT("isspace", 'b'),
    SL_LENT("istitle", 'b'), SL_LENT("isupper", 'b'),
    SL_LENT("startswith", 'b'), SL_LENT("endswith", 'b'),
    SL_LENT("Int.str", 'i'), SL_LENT("Float.str", 'f'),
    SL_LENT("find", 'i'), SL_LENT("rfind", 'i'), SL_LENT("count", 'i'),
    SL_LENT("split.str", '-'), SL_LENT("rsplit", '-'), SL_LENT("splitlines", '-'),
    SL_LENT("join", '-'), SL_LENT("replace", '-'),
    SL_LENT("strip", '-'), SL_LENT("lstrip", '-'), SL_LENT("rstrip", '-'),
    SL_LENT("upper", '-'), SL_LENT("lower", '-'), SL_LENT("title", '-'),
    SL_LENT("capitalize", '-'), SL_LENT("list", '-'),
    SL_LENT("slice.t", '-'), SL_LENT("add.t", '-'), SL_LENT("list.t", '-'), SL_LENT("pop.t", '-'),
    SL_LENT_LISTS("__contains__.", 'b'), SL_LENT_LISTS("eq.", 'b'), SL_LENT_LISTS("ne.", 'b'),
    SL_LENT_DICTS("keys."), SL_LENT_DICTS("values."), SL_LENT_DICTS("items."),
    {"prim::unchecked_cast", Form::Same, Op::COPY, "-", '-'},
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
