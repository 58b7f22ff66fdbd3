// one_hot: a row of zeros with a one for each index.
#include <algorithm>

#include "express.h"

namespace scriptlang {

using namespace express;

SL_OP(aten_one_hot) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(self.dtype() == ScalarType::Int64,
           "one_hot is only applicable to index tensor of type LongTensor.");
  Tensor places = to_contiguous(self);
  const int64_t* at = places.data<int64_t>();
  int64_t n = places.numel(), classes = args.integer(1), most = -1;
  for (int64_t i = 0; i < n; ++i) {
    SL_CHECK(at[i] >= 0, "Class values must be non-negative.");
    most = std::max(most, at[i]);
  }
  SL_CHECK(n > 0 || classes > 0, "Can not infer total number of classes from empty tensor.");
  if (classes == -1) {
    SL_CHECK(most < INT64_MAX, "one_hot: 9223372036854775808 classes are too many");
    classes = most + 1;
  }
  SL_CHECK(classes > 0, "num_classes should be positive");
  SL_CHECK(most < classes, "Class values must be smaller than num_classes.");
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  sizes.push_back(classes);
  Tensor result = Tensor::zeros(sizes, ScalarType::Int64);
  for (int64_t i = 0; i < n; ++i) result.data<int64_t>()[i * classes + at[i]] = 1;
  out[0] = result;
}

}  // namespace scriptlang
