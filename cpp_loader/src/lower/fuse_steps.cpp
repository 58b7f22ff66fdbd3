// A pass on finished code: replaces sequences of steps by fused steps. Only the first step of a
// sequence is overwritten. So jumps to the other steps still work, and a fused step that meets an
// unusual case can do the first step alone and leave the rest to the others.
#include <optional>

#include "code.h"

namespace scriptlang::lower {

namespace {

using Op = StepOp;

// A swap of list elements: x = l[i]; y = l[j]; l[i] = y; l[j] = x.
std::optional<Op> swap_of(const Step* s) {
  int32_t kind = int32_t(s[0].op) - int32_t(Op::LIST_GET_INT);
  bool pairs = kind >= 0 && kind <= 2 && s[1].op == s[0].op && s[2].op == s[3].op &&
               int32_t(s[2].op) - int32_t(Op::LIST_SET_INT) == kind;
  if (!pairs) return std::nullopt;
  int32_t list = s[0].b, i = s[0].c, j = s[1].c, x = s[0].a, y = s[1].a;
  bool apart = x != y && x != list && y != list && x != i && x != j && y != i && y != j;
  bool one_list = s[1].b == list && s[2].a == list && s[3].a == list;
  bool crossed = (s[2].b == j && s[2].c == x && s[3].b == i && s[3].c == y) ||
                 (s[2].b == i && s[2].c == y && s[3].b == j && s[3].c == x);
  if (!apart || !one_list || !crossed) return std::nullopt;
  return Op(int32_t(Op::LIST_SWAP_INT) + kind);
}

// Whether the steps branch if a key is missing in a dict.
bool is_lack(const Step* s) {
  return s[0].op == Op::DICT_HAS && s[1].op == Op::NOT_BOOL && s[2].op == Op::JUMP_FALSE &&
         s[1].a == s[0].a && s[1].b == s[0].a && s[2].b == s[0].a;
}

// The fused step of a product that is then added to or subtracted from a number.
std::optional<Op> product_of(const Step* s) {
  bool fits = s[0].op == Op::MUL_FLOAT && s[1].c == s[0].a && s[1].b != s[0].a;
  if (fits && s[1].op == Op::ADD_FLOAT) return Op::MUL_ADD_FLOAT;
  if (fits && s[1].op == Op::SUB_FLOAT) return Op::MUL_SUB_FLOAT;
  return std::nullopt;
}

// Whether the steps make a tuple and store it in a dict.
bool is_tuple_set(const Step* s) {
  return s[0].op == Op::TUPLE && s[1].op == Op::DICT_SET && s[1].c == s[0].a && s[1].a != s[0].a &&
         s[1].b != s[0].a;
}

// Whether the step is a RET of a number, from a frame that holds no counted value.
bool gives_number(const Step& step) {
  return step.op == Op::RET && step.c == 1 && step.x == kNothingAtAll;
}

}  // namespace

void fuse_steps(std::vector<Step>* steps) {
  for (size_t k = 0; k < steps->size(); ++k) {
    Step* step = steps->data() + k;
    size_t left = steps->size() - k;
    bool returned = left >= 2 && gives_number(step[1]) && step[1].a == step[0].a;
    if (gives_number(*step)) {
      step->op = Op::RET_NUMBER;
    } else if (returned && step->op == Op::ADD_INT) {
      step->op = Op::ADD_INT_RET;
    } else if (returned && step->op == Op::ADD_INT_BY) {
      step->op = Op::ADD_INT_BY_RET;
    } else if (left >= 2 && product_of(step)) {
      step->op = *product_of(step);
    } else if (left >= 2 && is_tuple_set(step)) {
      step->op = Op::TUPLE_SET;
    } else if (left >= 3 && is_lack(step)) {
      step->op = Op::DICT_LACKS;
    } else if (left >= 4) {
      if (std::optional<Op> swap = swap_of(step)) step->op = *swap;
    }
  }
}

}  // namespace scriptlang::lower
