// Iterates over several strided operands together, in the order that suits their memory.
#pragma once

#include <algorithm>

#include "../../kernels/parallel.h"
#include "op.h"

namespace scriptlang {

// Broadcasts `shape` with `sizes`, in place; raises PyTorch's error when they do not broadcast.
void broadcast_into(std::vector<int64_t>& shape, IntSpan sizes);

class StridedPlan {
 public:
  static constexpr int kMaxOperands = 5;

  void begin(int operands) { operands_ = operands; }
  void broadcast(IntSpan sizes);
  IntSpan shape() const { return {sizes_, ndim_}; }

  // Sets an operand; called after all broadcast() calls. Strides count elements of `itemsize`
  // bytes.
  void set_operand(int i, IntSpan sizes, IntSpan strides, int64_t itemsize);
  void set_scalar(int i);

  // The strides, in elements, that PyTorch gives to a new operand 0, derived from those of the
  // others.
  void result_strides(int64_t* strides) const;

  // Orders the dimensions, innermost first, and merges those that are evenly spaced.
  void finish();

  int64_t ndim() const { return ndim_; }
  int64_t size(int64_t d) const { return sizes_[d]; }
  int64_t stride(int operand, int64_t d) const { return strides_[operand][d]; }
  int64_t numel() const;

  // Calls f(pointers, strides, n) for every line along the innermost dimension; after finish().
  template <class F>
  void for_each_line(char* const* base, int64_t grain, F&& f) const;
  // Calls f(pointers, rows) for every plane of the two innermost dimensions, or bands of its rows.
  template <class F>
  void for_each_plane(char* const* base, int64_t grain, F&& f) const;

 private:
  static constexpr int64_t kLongLine = 1 << 18;
  template <class F>
  void cut_line(char* const* base, const int64_t* strides, int64_t n, F&& f) const;
  void order(int64_t* permutation) const;
  bool all_alike() const;

  int operands_ = 0;
  int64_t ndim_ = 0;
  int64_t sizes_[kMaxDims];
  int64_t strides_[kMaxOperands][kMaxDims];
  bool is_set_[kMaxOperands] = {};
  bool full_[kMaxOperands] = {};  // not broadcast
  int64_t itemsize_[kMaxOperands] = {};
};

// Processes a long line in pieces.
template <class F>
void StridedPlan::cut_line(char* const* base, const int64_t* strides, int64_t n, F&& f) const {
  for (int64_t done = 0; done < n; done += kLongLine) {
    char* at[kMaxOperands];
    for (int i = 0; i < operands_; ++i) at[i] = base[i] + done * strides[i];
    f(at, strides, std::min(kLongLine, n - done));
    kernels::worked(kLongLine);
  }
}

template <class F>
void StridedPlan::for_each_line(char* const* base, int64_t grain, F&& f) const {
  if (ndim_ == 0) {
    int64_t strides[kMaxOperands] = {};
    f(base, strides, int64_t{1});
    return;
  }
  int64_t inner = sizes_[0], lines = 1;
  for (int64_t d = 1; d < ndim_; ++d) lines *= sizes_[d];
  if (inner == 0 || lines == 0) return;
  int64_t strides[kMaxOperands];
  for (int i = 0; i < operands_; ++i) strides[i] = strides_[i][0];
  if (lines == 1) {
    kernels::parallel_for(inner, grain, [&](int64_t begin, int64_t end) {
      char* at[kMaxOperands];
      for (int i = 0; i < operands_; ++i) at[i] = base[i] + begin * strides[i];
      f(at, strides, end - begin);
    });
    return;
  }
  kernels::parallel_for(lines, std::max<int64_t>(1, grain / inner),
                        [&](int64_t begin, int64_t end) {
                          int64_t index[kMaxDims];
                          char* at[kMaxOperands];
                          for (int i = 0; i < operands_; ++i) at[i] = base[i];
                          int64_t rest = begin;
                          for (int64_t d = 1; d < ndim_; ++d) {
                            index[d] = rest % sizes_[d];
                            rest /= sizes_[d];
                            for (int i = 0; i < operands_; ++i) at[i] += index[d] * strides_[i][d];
                          }
                          for (int64_t line = begin; line < end; ++line) {
                            if (inner <= kLongLine) f(at, strides, inner);
                            else cut_line(at, strides, inner, f);
                            for (int64_t d = 1; d < ndim_; ++d) {
                              for (int i = 0; i < operands_; ++i) at[i] += strides_[i][d];
                              if (++index[d] < sizes_[d]) break;
                              index[d] = 0;
                              for (int i = 0; i < operands_; ++i)
                                at[i] -= sizes_[d] * strides_[i][d];
                            }
                          }
                        });
}

template <class F>
void StridedPlan::for_each_plane(char* const* base, int64_t grain, F&& f) const {
  int64_t planes = 1, rows = sizes_[1];
  for (int64_t d = 2; d < ndim_; ++d) planes *= sizes_[d];
  // Heights are multiples of 64, so that transposing copies get whole squares.
  int64_t least = (grain / sizes_[0] + 64) / 64 * 64;
  int64_t height = planes == 1 ? std::min(rows, least) : rows;
  int64_t bands = (rows + height - 1) / height;
  kernels::parallel_for(planes * bands, std::max<int64_t>(1, least / height),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t task = begin; task < end; ++task) {
                            int64_t rest = task / bands, first = task % bands * height;
                            char* at[kMaxOperands];
                            for (int i = 0; i < operands_; ++i)
                              at[i] = base[i] + first * strides_[i][1];
                            for (int64_t d = 2; d < ndim_; ++d) {
                              for (int i = 0; i < operands_; ++i)
                                at[i] += rest % sizes_[d] * strides_[i][d];
                              rest /= sizes_[d];
                            }
                            f(at, std::min(height, rows - first));
                          }
                        });
}

}  // namespace scriptlang
