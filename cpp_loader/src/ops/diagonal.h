// Diagonals of matrices, as views.
#pragma once

#include "op.h"

namespace scriptlang {

// The elements of a diagonal, as a view; what lies outside the matrix is left away.
Tensor diagonal_view(const Tensor& t, int64_t offset, int64_t dim1, int64_t dim2);

}  // namespace scriptlang
