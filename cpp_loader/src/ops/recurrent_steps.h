// Shared by operators that run all time steps of one direction of a recurrent layer.
#pragma once
#include "../../kernels/kernel_set.h"
#include "../../kernels/scratch.h"
#include "layout.h"
#include "linalg.h"
#include "row_kernels.h"

namespace scriptlang::recurrent {

struct Steps {
  int64_t times, batch, hidden;
  bool reverse;

  int64_t states() const { return batch * hidden; }
  // The time step that is computed as the i-th.
  int64_t time(int64_t i) const { return reverse ? times - 1 - i : i; }
};

template <class T>
void apply(kernels::Unary function, int64_t n, const T* x, T* y) {
  const void* in[1] = {x};
  const int64_t step[1] = {1};
  kernels::loops(function)[std::is_same_v<T, double> ? ScalarType::Float64 : ScalarType::Float32](
      n, y, in, step, nullptr);
}

// c [m][n] = (the value chosen by `start`) + a [m][k] * b [k][n]; a and b have the given strides.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_column,
              const T* b, int64_t b_row, int64_t b_column, const T* packed, T* c,
              kernels::Start start) {
  kernels::Gemm<T> g;
  g.m = m;
  g.n = g.c_row = n;
  g.k = k;
  g.a = a;
  g.a_row = a_row;
  g.a_column = a_column;
  g.b = b;
  g.b_row = b_row;
  g.b_column = b_column;
  g.packed_b = packed;
  g.c = c;
  g.start = start;
  kernels::kernels().gemm<T>().multiply(g);
}

// The weight packed for products, once for all time steps.
template <class T>
class Packed {
 public:
  Packed(int64_t k, int64_t n, const T* b, int64_t row, int64_t column)
      : space_(sizeof(T) * uint64_t(kernels::kernels().gemm<T>().packed_size(k, n))) {
    kernels::kernels().gemm<T>().pack(k, n, b, row, column, space_.template as<T>());
  }
  const T* get() { return space_.template as<T>(); }

 private:
  kernels::Scratch space_;
};

// Computes of_weight [wide][hidden], the gradient of a hidden weight: the sum over all time steps
// of the gradients of the gate sums, of_sums [times * batch][wide], times the state before the
// step. The first step, whose state is `first_state`, comes first, then the rest in one product.
template <class T>
void weight_gradient(const Steps& s, int64_t wide, const T* of_sums, const T* first_state,
                     const T* outputs, T* of_weight) {
  const int64_t n = s.hidden, first = s.time(0) * s.batch, rest = (s.times - 1) * s.batch;
  const T* none = nullptr;
  multiply(wide, n, s.batch, of_sums + first * wide, 1, wide, first_state, n, 1, none, of_weight,
           kernels::Start::kZero);
  if (rest == 0) return;
  const T* later = of_sums + (s.reverse ? 0 : s.batch * wide);
  const T* states_before = outputs + (s.reverse ? s.batch * n : 0);
  multiply(wide, n, rest, later, 1, wide, states_before, n, 1, none, of_weight,
           kernels::Start::kResult);
}

// Checks the sizes and type of a result of the forward pass, or of its gradient, and returns it
// contiguous in the type computed in.
inline Tensor of_sizes(const char* name, const Tensor& t, ScalarType dtype, ScalarType computed,
                       IntSpan sizes) {
  SL_CHECK(t.sizes() == sizes && t.dtype() == dtype, name, ": a tensor of size ",
           to_string(t.sizes()), " does not fit a result of size ", to_string(sizes));
  return contiguous_as(t, computed);
}

}  // namespace scriptlang::recurrent
