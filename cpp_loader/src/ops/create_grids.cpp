// Triangles of matrices, and grids of coordinates.
#include <algorithm>
#include <cstring>

#include "join.h"
#include "pointwise.h"
#include "view.h"

namespace scriptlang {

namespace {

// Copies the elements on the given side of a diagonal; the others are zero.
Tensor triangle(const Tensor& self, int64_t diagonal, bool lower) {
  SL_CHECK(self.dim() >= 2, lower ? "tril" : "triu",
           ": input tensor must have at least 2 dimensions");
  Tensor out = Tensor::empty(self.sizes(), self.dtype()), from = to_contiguous(self);
  int64_t rows = self.size(self.dim() - 2), columns = self.size(self.dim() - 1);
  int64_t size = out.itemsize(), lines = columns ? out.numel() / columns : 0;
  const char* source = static_cast<const char*>(from.raw());
  char* data = static_cast<char*>(out.raw());
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  for (int64_t line = 0; line < lines; ++line) {
    // The first column right of the diagonal (lower), or on it (upper).
    int64_t edge = std::clamp<int64_t>(line % rows + diagonal + lower, 0, columns);
    int64_t at = line * columns * size, cut = edge * size, end = columns * size;
    int64_t first = lower ? 0 : cut, kept = lower ? cut : end - cut;
    std::memcpy(data + at + first, source + at + first, size_t(kept));
    std::memset(data + at + (lower ? cut : 0), 0, size_t(end - kept));
  }
  return out;
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, std::string_view indexing) {
  SL_CHECK(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  SL_CHECK(indexing == "ij" || indexing == "xy",
           "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  bool swapped = indexing == "xy" && tensors.size() >= 2;
  int64_t n = int64_t(tensors.size());
  std::vector<int64_t> sizes;
  for (const Tensor& t : tensors) {
    SL_CHECK(t.dim() <= 1, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ",
             to_string(t.sizes()));
    SL_CHECK(t.dtype() == tensors[0].dtype(),
             "torch.meshgrid expects all tensors to have the same dtype");
    sizes.push_back(t.numel());
  }
  if (swapped) std::swap(sizes[0], sizes[1]);
  std::vector<Tensor> grids;
  for (int64_t i = 0; i < n; ++i) {
    int64_t axis = swapped && i < 2 ? 1 - i : i;
    std::vector<int64_t> shape(as_size(n), 1);
    shape[size_t(axis)] = tensors[size_t(i)].numel();
    grids.push_back(view_expand(view_as_shape(tensors[size_t(i)], shape), sizes));
  }
  return grids;
}

}  // namespace

SL_OP(aten_tril) { out[0] = triangle(args.tensor(0), args.integer(1), true); }
SL_OP(aten_triu) { out[0] = triangle(args.tensor(0), args.integer(1), false); }
SL_OP(aten_tril_) {
  copy_into(args.tensor(0), triangle(args.tensor(0), args.integer(1), true));
  out[0] = args.tensor(0);
}
SL_OP(aten_triu_) {
  copy_into(args.tensor(0), triangle(args.tensor(0), args.integer(1), false));
  out[0] = args.tensor(0);
}
SL_OP(aten_meshgrid) { out[0] = tensor_list(meshgrid(args.tensors(0), "ij")); }
SL_OP(aten_meshgrid_indexing) { out[0] = tensor_list(meshgrid(args.tensors(0), args.string(1))); }

}  // namespace scriptlang
