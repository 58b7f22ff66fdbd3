// What the optimiser's own operators share: endings, conditions, layouts.
#pragma once

#include <string>
#include <string_view>

#include "../../kernels/kernel_set.h"
#include "values/prepared.h"
#include "layout.h"
#include "pointwise.h"
#include "scratch.h"

namespace scriptlang {

// What a packed form of a constant is for.
enum Purpose : int64_t { kConvWeight = 1, kLinearWeight, kTransposedWeight, kSpreadWeight };

// An activation by name: on registers where the kernel has it, else on each tile of the result
// (`finish_of`) or in a pass of its own.
struct Ending {
  std::string_view text;
  kernels::Activation inside;
  kernels::Unary after;
  bool fused;

  const char* name() const { return text.data(); }  // a literal: it ends with a zero
};

// Raises RuntimeError for a name that is none.
const Ending& ending(std::string_view name);

kernels::Finish<float> finish_of(const Ending& e);
Tensor activated(const Tensor& y, const Ending& e, bool in_place);
Tensor added_to(const Tensor& y, const Tensor& added);

inline bool is_float(const Tensor& t) { return t.dtype() == ScalarType::Float32; }

// Whether every element of a weight lies in memory on its own: what is packed is then at most a
// small multiple of what the program already holds.
inline bool is_whole(const Tensor& w) { return w.numel() <= w.storage()->nbytes() / w.itemsize(); }

// The images with their channels last, copied where they do not lie so.
Tensor in_last(const Tensor& t);

// `y` in a memory format, copied where it does not lie so.
Tensor in_wanted_format(const Tensor& y, int64_t format);

}  // namespace scriptlang
