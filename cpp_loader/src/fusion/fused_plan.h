// The plan of a fused group for one kind of arguments: fused programs and whole operators, in
// order.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tile_code.h"

namespace scriptlang {

struct FusedPlan {
  static constexpr int kMaxValues = 256;

  // A step of the plan. Its inputs and outputs are numbers of values: first the arguments, then the
  // results of recorded steps.
  struct Part {
    std::unique_ptr<StreamProgram> program;  // null: `whole` computes the only output
    Whole whole;
    std::vector<int> inputs, outputs;        // an input of `whole` is -1 if left out
    std::vector<std::vector<int>> reusable;  // per output: arguments whose memory it may reuse
  };
  struct Made {  // a value that is written to memory
    ScalarType type;
    std::vector<int64_t> sizes, strides;
    bool contiguous;
    int64_t numel;
  };

  std::vector<int64_t> key;
  std::vector<int> tensors;  // the arguments that are tensors; they are the first values
  std::vector<Part> parts;   // empty: the function has to be called instead
  std::vector<std::pair<int, Made>> made;
  std::vector<int> results;  // indices into `made`
  FusedPlan* next = nullptr;
};

// Makes the parts of a plan. `plan->results` holds numbers of recorded values before the call and
// indices into `made` after it. Returns false if a part would be too large.
bool make_parts(const Recording& recording, FusedPlan* plan);

}  // namespace scriptlang
