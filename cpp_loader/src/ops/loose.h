// Unaligned words, for moving several small elements as one larger one.
#pragma once

namespace scriptlang {

template <class E>
struct LooseWord {
  typedef E type __attribute__((aligned(1), may_alias));
};
template <class E>
using Loose = typename LooseWord<E>::type;

}  // namespace scriptlang
