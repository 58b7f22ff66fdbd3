// Shared by the optimiser's own operators: activations at the end of a layer, conditions, layouts.
#pragma once

#include <string>
#include <string_view>

#include "../../kernels/kernel_set.h"
#include "values/prepared.h"
#include "layout.h"
#include "pointwise.h"
#include "scratch.h"

namespace scriptlang {

// The purpose of a packed form of a constant; part of its cache key.
enum Purpose : int64_t { kConvWeight = 1, kLinearWeight, kTransposedWeight, kSpreadWeight };

// An activation that ends a fused operator. The kernel applies it in registers where it can
// (`inside`); otherwise it is applied to each tile of the result (`finish_of`) or in a separate
// pass (`after`).
struct Ending {
  std::string_view text;
  kernels::Activation inside;
  kernels::Unary after;
  bool fused;

  const char* name() const { return text.data(); }  // a literal: it ends with a zero
};

// Finds an activation by name; raises RuntimeError for an unknown name.
const Ending& ending(std::string_view name);

kernels::Finish<float> finish_of(const Ending& e);
Tensor activated(const Tensor& y, const Ending& e, bool in_place);
Tensor added_to(const Tensor& y, const Tensor& added);

inline bool is_float(const Tensor& t) { return t.dtype() == ScalarType::Float32; }

// Whether no elements of a weight share memory: then the packed form is at most a small multiple of
// what the program already holds.
inline bool is_whole(const Tensor& w) { return w.numel() <= w.storage()->nbytes() / w.itemsize(); }

// The images in channels-last format, copied where needed.
Tensor in_last(const Tensor& t);

// `y` in a memory format, copied where needed.
Tensor in_wanted_format(const Tensor& y, int64_t format);

}  // namespace scriptlang
