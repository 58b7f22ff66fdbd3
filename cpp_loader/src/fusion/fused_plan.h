// The plan of a fused group for arguments of one kind: programs and whole operators, in order.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tile_code.h"

namespace scriptlang {

struct FusedPlan {
  static constexpr int kMaxValues = 256;

  // Streams are numbered as values: first the arguments, then the results of steps.
  struct Part {
    std::unique_ptr<StreamProgram> program;  // null: `whole` computes the only output
    Whole whole;
    std::vector<int> inputs, outputs;        // inputs of `whole`: -1 for one that is left out
    std::vector<std::vector<int>> reusable;  // by output: arguments whose memory it may take
  };
  struct Made {  // a value that is written to memory
    ScalarType type;
    std::vector<int64_t> sizes, strides;
    bool contiguous;
    int64_t numel;
  };

  std::vector<int64_t> key;
  std::vector<int> tensors;  // which arguments are the first values
  std::vector<Part> parts;   // none: the function has to be called
  std::vector<std::pair<int, Made>> made;
  std::vector<int> results;  // indices into `made`
  FusedPlan* next = nullptr;
};

// Makes the parts of a plan. `plan->results` are values of the recording; afterwards they are
// indices into `made`. Returns false if a part would be too large.
bool make_parts(const Recording& recording, FusedPlan* plan);

}  // namespace scriptlang
