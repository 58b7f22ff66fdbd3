// What a fused group does for arguments of one kind: programs, and operators as a whole, in order.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tile_code.h"

namespace scriptlang {

struct FusedPlan {
  static constexpr int kMaxValues = 256;

  // Streams are values: arguments first, then what steps give.
  struct Part {
    std::unique_ptr<StreamProgram> program;  // null: `whole` of the inputs is the one output
    Whole whole;
    std::vector<int> inputs, outputs;        // inputs of `whole`: -1 for one that is left out
    std::vector<std::vector<int>> reusable;  // by output: arguments whose memory it may take
  };
  struct Made {  // a value that lies in memory
    ScalarType type;
    std::vector<int64_t> sizes, strides;
    bool contiguous;
    int64_t numel;
  };

  std::vector<int64_t> key;
  std::vector<int> tensors;  // which arguments are the first values
  std::vector<Part> parts;   // none: the function has to be called
  std::vector<std::pair<int, Made>> made;
  std::vector<int> results;  // which of `made`
  FusedPlan* next = nullptr;
};

// Makes the parts of a plan whose `results` are values of the recording, and these indices of
// `made`. False where they would be too large.
bool make_parts(const Recording& recording, FusedPlan* plan);

}  // namespace scriptlang
