// The memory layout of Fourier transform results. PyTorch puts the transformed axes innermost and
// the other dimensions before them, ordered by their strides. For half spectra, the axis between
// real and complex numbers is ordered separately.
#pragma once

#include "op.h"

namespace scriptlang {

// The axes of a transform and the number of points along each. For kToReal the last number is that
// of the result.
struct FourierPlan {
  std::vector<int64_t> dims, sizes;
};

// Full spectra; half spectra of real signals; real signals from half spectra; half spectra whose
// last axis is transformed first.
enum class Spectrum { kWhole, kHalf, kToReal, kHalfByLast };

using Order = std::vector<int64_t>;  // dimensions, outermost in memory first

// The order of the result's dimensions, for a signal that is first cut or padded to the plan's
// sizes.
Order order_for(const Tensor& self, const FourierPlan& plan, Spectrum kind);

}  // namespace scriptlang
