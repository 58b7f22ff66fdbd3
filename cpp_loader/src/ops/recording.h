// What pointwise operators would compute, noted instead of computed.
//
// While a Recording is open on a thread, its operators may be given symbolic tensors: these have a
// type and a geometry, but no elements. Operators check their arguments and settle types and
// shapes as always; the loop that they would run becomes a step. Only operators that do nothing
// but that may be given symbolic tensors (fused_group.cpp lists them).
#pragma once

#include "pointwise.h"

namespace scriptlang {

// One loop: its inputs converted to the types it wants, its result to the type of `result`.
struct PointwiseStep {
  struct In {
    int value = -1;  // index of a value of the recording; -1: the number
    Scalar number;
    ScalarType type = ScalarType::Float32;
  };
  kernels::Loop loop = nullptr;  // null: in[0] converted
  In in[kMaxInputs];
  int count = 0;
  bool has_params = false;
  double params[kernels::kParams] = {};
  ScalarType produced = ScalarType::Float32;  // by the loop
  int result = -1;                            // index of a value
};

extern Storage* symbolic_storage;
inline bool is_symbolic(const Tensor& t) { return t.storage() == symbolic_storage; }

class Recording {
 public:
  // Thrown by what cannot be recorded.
  struct Impossible {};

  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  static Recording& current();  // gives up where none is open
  [[noreturn]] static void give_up() { throw Impossible(); }

  // A symbolic tensor like this one; it is the next value.
  Tensor input(const Tensor& like);
  // Notes a step; no strides mean contiguous.
  Tensor add(PointwiseStep step, IntSpan sizes, IntSpan strides, ScalarType type);
  Tensor convert(const Tensor& t, ScalarType type);
  // Index of a value; gives up on a tensor that is none.
  int find(const Tensor& t) const;

  const std::vector<Tensor>& values() const { return values_; }
  const std::vector<PointwiseStep>& steps() const { return steps_; }

 private:
  Tensor make(IntSpan sizes, IntSpan strides, ScalarType type);
  std::vector<Tensor> values_;
  std::vector<PointwiseStep> steps_;
  Recording* outer_;
};

}  // namespace scriptlang
