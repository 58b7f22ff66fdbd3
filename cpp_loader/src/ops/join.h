// Joining tensors: cat and stack, for other operators.
#pragma once

#include <initializer_list>
#include <vector>

#include "op.h"
#include "values/pooled.h"

namespace scriptlang {

// A span over the tensors of a list or vector, which must outlive it.
class Tensors {
 public:
  Tensors(const Tensor* first, size_t count) : first_(first), count_(count) {}
  Tensors(const std::vector<Tensor>& all) : Tensors(all.data(), all.size()) {}
  Tensors(const Pooled<Tensor>& all) : Tensors(all.data(), all.size()) {}
  size_t size() const { return count_; }
  const Tensor* begin() const { return first_; }
  const Tensor* end() const { return first_ + count_; }
  const Tensor& operator[](size_t k) const { return first_[k]; }

 private:
  const Tensor* first_;
  size_t count_;
};

Tensor cat(Tensors tensors, int64_t dim);
inline Tensor cat(std::initializer_list<Tensor> tensors, int64_t dim) {
  return cat(Tensors(tensors.begin(), tensors.size()), dim);
}
Tensor stack(Tensors tensors, int64_t dim);

// As args.tensors(i), in thread-local pooled memory.
Pooled<Tensor> tensors_of(const Args& args, int i);
Tensor flip(const Tensor& self, IntSpan dims);

}  // namespace scriptlang
