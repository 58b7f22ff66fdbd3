// Views whose geometry is not checked, unlike those of Tensor::as_strided and Tensor::on_storage. A
// comment at each call says why all elements lie inside the storage.
#pragma once

#include "tensor.h"

namespace scriptlang {

Tensor unchecked_on_storage(Storage* storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                            int64_t offset);
// A view on the storage of `t`, with the same quantizer. The overload for rvalues turns `t` itself
// into the view if it holds the only reference to the header.
Tensor unchecked_view(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset);
Tensor unchecked_view(Tensor&& t, IntSpan sizes, IntSpan strides, int64_t offset);

// Changes the strides of a tensor in place. Raises RuntimeError unless all elements lie inside the
// storage.
void lay(const Tensor& t, IntSpan strides);

}  // namespace scriptlang
