// What operators would compute, noted instead of computed.
//
// While a Recording is open on a thread, its operators may be given symbolic tensors: these have a
// type and a geometry, but no elements. Operators check their arguments and settle types and
// shapes as always; the loop that they would run, or the function of rows, becomes a step. Only
// operators that do nothing but that may be given symbolic tensors (fused_group.cpp lists them).
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "pointwise.h"
#include "row_functions.h"

namespace scriptlang {

// What an operator does with all of its inputs at once.
using Whole = std::function<Tensor(const Tensor* inputs)>;

// One loop, or one function of every row: its inputs converted to the types it wants, its result
// to the type of `result`.
struct RecordedStep {
  struct In {
    int value = -1;  // index of a value of the recording; -1: the number
    Scalar number;
    ScalarType type = ScalarType::Float32;
  };
  kernels::Loop loop = nullptr;  // null where there is no `whole` either: in[0] converted
  In in[kMaxInputs];
  int count = 0;
  bool has_params = false;
  double params[kernels::kParams] = {};
  ScalarType produced = ScalarType::Float32;  // by the loop or function
  int result = -1;                            // index of a value

  // Of an operator on rows: null `row` where its rows do not lie in the last dimensions.
  Whole whole;
  const RowFunction* row = nullptr;
  int row_dims = 0;  // how many last dimensions of in[0] make a row
};

extern std::atomic<Storage*> symbolic_storage;  // null until something is recorded
inline bool is_symbolic(const Tensor& t) {
  return t.storage() == symbolic_storage.load(std::memory_order_relaxed);
}

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
  Tensor add(RecordedStep step, IntSpan sizes, IntSpan strides, ScalarType type);
  Tensor convert(const Tensor& t, ScalarType type);
  // Index of a value; gives up on a tensor that is none.
  int find(const Tensor& t) const;

  // An operator on rows: the function, the type it computes in, numbers for it, and its inputs,
  // of which the ones behind the first may be undefined.
  struct Rows {
    const RowFunction* function = nullptr;  // null: none fits, only `whole` does
    int dims = 0;
    ScalarType computed = ScalarType::Float32;
    std::vector<double> params;
    std::vector<Tensor> inputs;
  };
  // Its result lies contiguous.
  Tensor add_rows(const Rows& rows, Whole whole, IntSpan sizes, ScalarType type);

  const std::vector<Tensor>& values() const { return values_; }
  const std::vector<RecordedStep>& steps() const { return steps_; }

 private:
  Tensor make(IntSpan sizes, IntSpan strides, ScalarType type);
  std::vector<Tensor> values_;
  std::vector<RecordedStep> steps_;
  Recording* outer_;
};

}  // namespace scriptlang
