// Plans loops over several strided operands: broadcasting, order of dimensions.
#include "strided.h"

#include "pointwise.h"
#include "values/exact.h"

#include <cstring>

namespace scriptlang {

namespace {

[[noreturn]] __attribute__((noinline, cold)) void cannot_broadcast(int64_t a, int64_t b,
                                                                   int64_t dim) {
  raise(ErrorKind::RuntimeError, "The size of tensor a (", a, ") must match the size of tensor b (",
        b, ") at non-singleton dimension ", dim);
}

}  // namespace

void broadcast_into(std::vector<int64_t>& shape, IntSpan sizes) {
  int64_t have = int64_t(shape.size());
  if (sizes.size > have) shape.insert(shape.begin(), size_t(sizes.size - have), 1);
  int64_t shift = int64_t(shape.size()) - sizes.size;
  for (int64_t i = sizes.size - 1; i >= 0; --i) {
    int64_t& mine = shape[size_t(i + shift)];
    if (mine == sizes[i] || sizes[i] == 1) continue;
    if (mine != 1) cannot_broadcast(mine, sizes[i], i + shift);
    mine = sizes[i];
  }
}

std::vector<int64_t> broadcast_shapes(IntSpan a, IntSpan b) {
  std::vector<int64_t> shape(a.begin(), a.end());
  broadcast_into(shape, b);
  return shape;
}

void StridedPlan::broadcast(IntSpan sizes) {
  if (sizes.size > ndim_) {
    int64_t added = sizes.size - ndim_;
    std::memmove(sizes_ + added, sizes_, size_t(ndim_) * sizeof(int64_t));
    std::fill_n(sizes_, added, 1);
    ndim_ = sizes.size;
  }
  int64_t shift = ndim_ - sizes.size;
  for (int64_t i = sizes.size - 1; i >= 0; --i) {
    int64_t& mine = sizes_[i + shift];
    if (mine == sizes[i] || sizes[i] == 1) continue;
    if (mine != 1) cannot_broadcast(mine, sizes[i], i + shift);
    mine = sizes[i];
  }
}

void StridedPlan::set_operand(int i, IntSpan sizes, IntSpan strides, int64_t itemsize) {
  int64_t shift = ndim_ - sizes.size;
  full_[i] = shift == 0;
  for (int64_t d = 0; d < shift; ++d) strides_[i][d] = 0;
  for (int64_t d = 0; d < sizes.size; ++d) {
    bool stretched = sizes[d] == 1 && sizes_[d + shift] != 1;
    // Unsigned, as it may overflow: the stride of a dimension of size 1 may be any number and is
    // not used.
    strides_[i][d + shift] = stretched ? 0 : int64_t(uint64_t(strides[d]) * uint64_t(itemsize));
    if (stretched) full_[i] = false;
  }
  itemsize_[i] = itemsize;
  is_set_[i] = true;
}

void StridedPlan::set_scalar(int i) {
  std::fill_n(strides_[i], ndim_, 0);
  itemsize_[i] = 0;
  is_set_[i] = true;
}

int64_t StridedPlan::numel() const {
  int64_t n = 1;
  for (int64_t d = 0; d < ndim_; ++d) n *= sizes_[d];
  return n;
}

// Smaller strides go first; with equal ones the last dimension does. An operand that is broadcast
// along one of two dimensions does not count for their order.
void StridedPlan::order(int64_t* permutation) const {
  for (int64_t d = 0; d < ndim_; ++d) permutation[d] = ndim_ - 1 - d;
  auto compare = [&](int64_t a, int64_t b) {  // > 0: a belongs after b
    for (int i = 0; i < operands_; ++i) {
      if (!is_set_[i] || itemsize_[i] == 0) continue;
      int64_t sa = strides_[i][a], sb = strides_[i][b];
      if (sa == 0 || sb == 0) continue;
      if (sa != sb) return sa < sb ? -1 : 1;
      if (sizes_[a] > sizes_[b]) return 1;
    }
    return 0;
  };
  for (int64_t i = 1; i < ndim_; ++i) {
    int64_t here = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      int c = compare(permutation[j], permutation[here]);
      if (c > 0) {
        std::swap(permutation[j], permutation[here]);
        here = j;
      } else if (c < 0) {
        break;
      }
    }
  }
}

// Whether every tensor operand has the result's shape and the same gapless strides.
bool StridedPlan::all_alike() const {
  int first = -1;
  for (int i = 1; i < operands_; ++i) {
    if (itemsize_[i] == 0) continue;
    if (!full_[i]) return false;
    if (first < 0) first = i;
    for (int64_t d = 0; d < ndim_; ++d) {
      if (strides_[i][d] / itemsize_[i] != strides_[first][d] / itemsize_[first]) return false;
    }
  }
  if (first < 0) return false;
  int64_t sorted[kMaxDims];
  order(sorted);
  int64_t expected = itemsize_[first];
  for (int64_t k = 0; k < ndim_; ++k) {
    int64_t d = sorted[k];
    if (sizes_[d] == 1) continue;
    if (strides_[first][d] != expected) return false;
    expected = outer_stride(expected, sizes_[d]);
  }
  return true;
}

void StridedPlan::result_strides(int64_t* strides) const {
  if (all_alike()) {
    for (int i = 1; i < operands_; ++i) {
      if (itemsize_[i] == 0) continue;
      for (int64_t d = 0; d < ndim_; ++d) strides[d] = strides_[i][d] / itemsize_[i];
      return;
    }
  }
  int64_t permutation[kMaxDims];
  order(permutation);
  int64_t next = 1;
  for (int64_t k = 0; k < ndim_; ++k) {
    strides[permutation[k]] = next;
    next = outer_stride(next, sizes_[permutation[k]]);
  }
}

void StridedPlan::finish() {
  if (std::find(sizes_, sizes_ + ndim_, 0) != sizes_ + ndim_) {  // nothing to iterate over
    ndim_ = 1;
    sizes_[0] = 0;
    for (int i = 0; i < operands_; ++i) strides_[i][0] = 0;
    return;
  }
  int64_t permutation[kMaxDims];
  order(permutation);
  int64_t sizes[kMaxDims], strides[kMaxOperands][kMaxDims];
  int64_t n = 0;
  for (int64_t k = 0; k < ndim_; ++k) {
    int64_t d = permutation[k];
    if (sizes_[d] == 1) continue;
    bool merges = n > 0;
    for (int i = 0; i < operands_ && merges; ++i) {
      merges = strides_[i][d] == strides[i][n - 1] * sizes[n - 1];
    }
    if (merges) {
      sizes[n - 1] *= sizes_[d];
      continue;
    }
    sizes[n] = sizes_[d];
    for (int i = 0; i < operands_; ++i) strides[i][n] = strides_[i][d];
    ++n;
  }
  ndim_ = n;
  std::copy_n(sizes, n, sizes_);
  for (int i = 0; i < operands_; ++i) std::copy_n(strides[i], n, strides_[i]);
}

}  // namespace scriptlang
