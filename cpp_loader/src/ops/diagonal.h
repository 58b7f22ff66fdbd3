// Diagonals of matrices, as views.
#pragma once

#include "op.h"

namespace scriptlang {

// A view of a diagonal. An offset outside the matrix gives an empty one.
Tensor diagonal_view(const Tensor& t, int64_t offset, int64_t dim1, int64_t dim2);

}  // namespace scriptlang
