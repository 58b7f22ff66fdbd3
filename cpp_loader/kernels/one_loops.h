// Operators of a build for one instruction set. Each operator is a number with its own loops, so
// that a program links only the loops of the operators that it names. loops.h includes this file in
// such a build.
#pragma once

namespace scriptlang::kernels {

// The loops of an operator. A lookup returns the first of the three that has a loop for the type.
struct LoopTable {
  const LoopRow* fast;   // isa/pointwise.cpp
  const LoopRow* plain;  // isa/plain_loops.cpp
  const LoopRow* own;    // unary.cpp, binary.cpp, ternary.cpp
  Loop operator[](ScalarType t) const;
};

// clang-format off
#define X(name) extern const LoopTable unary_##name;
SL_UNARY_NAMES(X)
#undef X
#define X(name) extern const LoopTable binary_##name;
SL_BINARY_NAMES(X)
#undef X
#define X(name) extern const LoopTable ternary_##name;
SL_TERNARY_NAMES(X)
#undef X
namespace SL_ONE_ISA {
#define X(name) extern const LoopRow unary_##name##_fast, unary_##name##_plain;
SL_UNARY_NAMES(X)
#undef X
#define X(name) extern const LoopRow binary_##name##_fast, binary_##name##_plain;
SL_BINARY_NAMES(X)
#undef X
#define X(name) extern const LoopRow ternary_##name##_fast, ternary_##name##_plain;
SL_TERNARY_NAMES(X)
#undef X
}  // namespace SL_ONE_ISA

// The class of operators. They are compared by number, which does not refer to the loops.
#define SL_ONE_OPERATOR(Kind, NAMES, kind)                                          \
  class Kind {                                                                      \
   public:                                                                          \
    enum Number : int { NAMES(SL_NUMBER_OF) kCount };                               \
    constexpr Kind(Number number, const LoopTable* table)                           \
        : number_(number), table_(table) {}                                         \
    constexpr explicit operator int() const { return number_; }                     \
    constexpr bool operator==(Kind other) const { return number_ == other.number_; } \
    constexpr bool operator!=(Kind other) const { return number_ != other.number_; } \
    const LoopTable& table() const { return *table_; }                              \
    NAMES(SL_MEMBER_OF_##Kind)                                                      \
                                                                                    \
   private:                                                                         \
    Number number_;                                                                 \
    const LoopTable* table_;                                                        \
  };                                                                                \
  NAMES(SL_VALUE_OF_##Kind)                                                         \
  inline const LoopTable& loops(Kind op) { return op.table(); }
#define SL_NUMBER_OF(name) n_##name,
#define SL_MEMBER_OF_Unary(name) static const Unary k_##name;
#define SL_MEMBER_OF_Binary(name) static const Binary k_##name;
#define SL_MEMBER_OF_Ternary(name) static const Ternary k_##name;
#define SL_VALUE_OF_Unary(name) \
  inline constexpr Unary Unary::k_##name{Unary::n_##name, &unary_##name};
#define SL_VALUE_OF_Binary(name) \
  inline constexpr Binary Binary::k_##name{Binary::n_##name, &binary_##name};
#define SL_VALUE_OF_Ternary(name) \
  inline constexpr Ternary Ternary::k_##name{Ternary::n_##name, &ternary_##name};
SL_ONE_OPERATOR(Unary, SL_UNARY_NAMES, unary)
SL_ONE_OPERATOR(Binary, SL_BINARY_NAMES, binary)
SL_ONE_OPERATOR(Ternary, SL_TERNARY_NAMES, ternary)
// clang-format on

constexpr const LoopRow* none_if_empty(const LoopRow& row) {
  if (row.sign_free) return &row;
  for (Loop loop : row.at) {
    if (loop != nullptr) return &row;
  }
  return nullptr;
}
// Defines the table of an operator from the rows of isa/ and the row own_<operator> of this file.
#define SL_LOOP_TABLE(kind, name)                                  \
  const LoopTable kind##_##name{&SL_ONE_ISA::kind##_##name##_fast, \
                                &SL_ONE_ISA::kind##_##name##_plain, none_if_empty(own_##name)};

// Collects the loops of an operator from a list of isa/plain_loops.cpp, for types in this build.
template <class Listed, int N>
constexpr LoopRow row_of(const Listed (&all)[N], int op) {
  LoopRow row;
  for (const Listed& l : all) {
    if (l.op == op && is_kept(l.type)) row.at[static_cast<int>(l.type)] = l.loop;
  }
  return row;
}
// clang-format off
#define SL_PLAIN_UNARY(name) \
  const LoopRow unary_##name##_plain = row_of(kUnaryLoops, Unary::n_##name);
#define SL_PLAIN_BINARY(name) \
  const LoopRow binary_##name##_plain = row_of(kBinaryLoops, Binary::n_##name);
#define SL_PLAIN_TERNARY(name) \
  const LoopRow ternary_##name##_plain = row_of(kTernaryLoops, Ternary::n_##name);
#define SL_PLAIN_ROWS \
  SL_UNARY_NAMES(SL_PLAIN_UNARY) SL_BINARY_NAMES(SL_PLAIN_BINARY) \
  SL_TERNARY_NAMES(SL_PLAIN_TERNARY)
// clang-format on

}  // namespace scriptlang::kernels
