// How results of Fourier transforms lie: PyTorch puts the axes of a transform innermost, the others
// before them by their strides; the real side of half a spectrum is a transform apart.
#pragma once

#include "op.h"

namespace scriptlang {

// The axes of a transform and the points along each; of kToReal the last are those of the result.
struct FourierPlan {
  std::vector<int64_t> dims, sizes;
};

// Whole spectra; half ones of real signals; signals of half spectra; half spectra whose last axis
// is transformed first.
enum class Spectrum { kWhole, kHalf, kToReal, kHalfByLast };

using Order = std::vector<int64_t>;  // dimensions, the slowest first

// The order for a signal that is cut or padded to the plan's points before.
Order order_for(const Tensor& self, const FourierPlan& plan, Spectrum kind);

}  // namespace scriptlang
