// Views whose geometry is not checked, in contrast to Tensor::as_strided and Tensor::on_storage. A
// comment at each call says why its elements are inside of the storage.
#pragma once

#include "tensor.h"

namespace scriptlang {

Tensor unchecked_on_storage(Storage* storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                            int64_t offset);
// Of a tensor's storage, quantized as that is. One of a tensor that goes becomes the view itself
// where nobody else has it.
Tensor unchecked_view(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset);
Tensor unchecked_view(Tensor&& t, IntSpan sizes, IntSpan strides, int64_t offset);

// The elements of a tensor lie with these strides from now on. Raises unless all are in the
// storage.
void lay(const Tensor& t, IntSpan strides);

}  // namespace scriptlang
