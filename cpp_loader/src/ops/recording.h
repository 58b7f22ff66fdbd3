// Records what operators would compute, instead of computing it.
//
// While a Recording is open on a thread, its operators may be given symbolic tensors, which have a
// type and a geometry but no elements. Operators check their arguments and determine types and
// shapes as always; the loop or row function that they would run becomes a step of the recording.
// Only operators that have no other effect may be given symbolic tensors (fused_group.cpp lists
// them).
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "pointwise.h"
#include "row_functions.h"

namespace scriptlang {

// Runs a recorded operator on whole tensors.
using Whole = std::function<Tensor(const Tensor* inputs)>;

// One loop, or one row function. Its inputs are converted to the types it wants, its result to the
// type of the value `result`.
struct RecordedStep {
  struct In {
    int value = -1;  // index of a value of the recording; -1: `number`
    Scalar number;
    ScalarType type = ScalarType::Float32;
  };
  kernels::Loop loop = nullptr;  // if `whole` is null too: in[0], converted
  In in[kMaxInputs];
  int count = 0;
  bool has_params = false;
  double params[kernels::kParams] = {};
  ScalarType produced = ScalarType::Float32;  // type that the loop or function writes
  int result = -1;                            // index of a value

  // For operators on rows. `row` is null where the rows are not the last dimensions.
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
  // Thrown where something cannot be recorded.
  struct Impossible {};

  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  static Recording& current();  // gives up where no recording is open
  [[noreturn]] static void give_up() { throw Impossible(); }

  // Adds a symbolic tensor with the geometry and type of `like` as the next value.
  Tensor input(const Tensor& like);
  // Adds a step and returns its symbolic result. Empty strides mean contiguous.
  Tensor add(RecordedStep step, IntSpan sizes, IntSpan strides, ScalarType type);
  Tensor convert(const Tensor& t, ScalarType type);
  // The index of a value; gives up where the tensor is not one.
  int find(const Tensor& t) const;

  // An operator on rows: the row function, the type it computes in, its parameters and its inputs.
  // Inputs behind the first may be undefined.
  struct Rows {
    const RowFunction* function = nullptr;  // null: no row function fits, only `whole`
    int dims = 0;
    ScalarType computed = ScalarType::Float32;
    std::vector<double> params;
    std::vector<Tensor> inputs;
  };
  // Adds an operator on rows and returns its symbolic result, which is contiguous.
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
