// Views: other sizes and strides on the same storage. All functions check their arguments.
#pragma once

#include "op.h"

namespace scriptlang {

Tensor view_select(const Tensor& t, int64_t dim, int64_t index);
// Python's slice along a dimension; start and end count from the end when negative and are
// clamped; step > 0.
Tensor view_slice(const Tensor& t, int64_t dim, int64_t start, int64_t end, int64_t step = 1);
Tensor view_narrow(const Tensor& t, int64_t dim, int64_t start, int64_t length);
Tensor view_transpose(const Tensor& t, int64_t dim0, int64_t dim1);
Tensor view_permute(const Tensor& t, IntSpan dims);
Tensor view_unsqueeze(const Tensor& t, int64_t dim);
Tensor view_squeeze(const Tensor& t);
Tensor view_squeeze(const Tensor& t, IntSpan dims);
Tensor view_expand(const Tensor& t, IntSpan sizes);
// sizes may hold one -1. Raises when the strides do not allow a view.
Tensor view_as_shape(const Tensor& t, IntSpan sizes);
// A view where the strides allow it, else a copy.
Tensor reshape(const Tensor& t, IntSpan sizes);

// The same for rvalues: the view reuses the tensor's header where it has no other owner.
Tensor view_select(Tensor&& t, int64_t dim, int64_t index);
Tensor view_slice(Tensor&& t, int64_t dim, int64_t start, int64_t end, int64_t step = 1);
Tensor view_transpose(Tensor&& t, int64_t dim0, int64_t dim1);
Tensor view_permute(Tensor&& t, IntSpan dims);
Tensor view_unsqueeze(Tensor&& t, int64_t dim);
Tensor view_squeeze(Tensor&& t);
Tensor view_squeeze(Tensor&& t, IntSpan dims);
Tensor view_expand(Tensor&& t, IntSpan sizes);
Tensor view_as_shape(Tensor&& t, IntSpan sizes);
Tensor reshape(Tensor&& t, IntSpan sizes);

Tensor flatten(const Tensor& t, int64_t start, int64_t end);
void check_dims(int64_t ndim);     // raises where a tensor cannot have so many
Tensor alias_of(const Tensor& t);  // a new tensor on the same storage

// Gives t the geometry of `view`, which has the same storage.
void become(const Tensor& t, const Tensor& view);
// Gives a tensor other sizes, row-major. Its storage grows where needed; new elements are
// uninitialised, except that bools become false.
void resize(const Tensor& self, IntSpan sizes);

// Computes strides that give `t` these sizes without moving an element; false when there are none.
bool view_strides(const Tensor& t, IntSpan sizes, int64_t* strides);
// Replaces a -1 so that the sizes have numel elements; raises when they cannot.
std::vector<int64_t> infer_sizes(IntSpan sizes, int64_t numel);

}  // namespace scriptlang
