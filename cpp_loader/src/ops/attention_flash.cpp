// Attention that is recorded, and its gradients, head by head: the scores of a block of query rows
// stay in the second-level cache and are not kept.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../../kernels/backward.h"
#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "../../kernels/scratch.h"
#include "pointwise.h"
#include "row_kernels.h"
#include "view.h"

namespace scriptlang {

namespace {

constexpr const char* kName = "scaled_dot_product_attention_flash_attention: ";

// The arguments; all tensors have four dimensions, [batch, heads, rows, width], and elements of a
// row lie side by side. Heads of the query may share heads of key and value.
struct Flash {
  Tensor q, k, v, mask;  // mask: [batch, heads, rows, keys], or undefined
  int64_t batch, heads, groups, shared, rows, keys, width;  // groups: heads of key and value
  bool causal;
  double scale;

  // The keys that a row sees.
  int64_t seen(int64_t row) const { return causal ? std::min(keys, row + 1) : keys; }
};

template <class T>
T* at(const Tensor& t, int64_t b, int64_t h, int64_t row) {
  return t.data<T>() + b * t.stride(0) + h * t.stride(1) + row * t.stride(2);
}

Tensor rows_together(const Tensor& t, ScalarType computed) {
  Tensor made = to_dtype(t, computed);
  return made.size(3) <= 1 || made.stride(3) == 1 ? made : to_contiguous(made);
}

// Reads query, key and value, which begin at argument `first`, and the dropout and what follows it,
// which begin at `rest`.
Flash flash_of(const Args& args, int first, int rest) {
  const Tensor &q = args.tensor(first), &k = args.tensor(first + 1), &v = args.tensor(first + 2);
  const double dropout = args.number(rest);
  const Tensor& mask = args.opt_tensor(rest + 2);
  SL_CHECK(is_floating(q.dtype()), kName, "Expected data type in FP32, FP64, BF16, FP16, but got ",
           dtype_display_name(q.dtype()), " instead.");
  SL_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4, kName,
           "Accept only 4 dims inputs shape of {B, H, T, K}");
  SL_CHECK(dropout == 0, kName, "Currently do not support dropout > 0");
  SL_CHECK(q.size(3) == k.size(3) && q.size(3) == v.size(3), kName,
           "Q/K/V should have the same head size");
  SL_CHECK(!mask.defined() || mask.dtype() == q.dtype(), kName,
           "Attention mask is the same data type as query");
  SL_CHECK(!mask.defined() || mask.dim() == 2 || mask.dim() == 4, kName,
           "Attention mask dim in {2, 4}");
  const int64_t groups = k.size(1);
  const bool fits = k.sizes() == v.sizes() && q.size(0) == k.size(0) && groups > 0 &&
                    q.size(1) % groups == 0 && q.dtype() == k.dtype() && q.dtype() == v.dtype();
  SL_CHECK(fits, kName, "query ", to_string(q.sizes()), ", key ", to_string(k.sizes()),
           " and value ", to_string(v.sizes()),
           " of one dtype, batch and number of keys are needed");
  const ScalarType computed = computed_type(q.dtype(), "scaled_dot_product_attention");
  Flash f;
  f.q = rows_together(q, computed);
  f.k = rows_together(k, computed);
  f.v = rows_together(v, computed);
  f.batch = q.size(0);
  f.heads = q.size(1);
  f.groups = groups;
  f.shared = f.heads / groups;
  f.rows = q.size(2);
  f.keys = k.size(2);
  f.width = q.size(3);
  f.causal = args.boolean(rest + 1);
  f.scale = args.number(rest + 3, 1 / std::sqrt(double(std::max<int64_t>(1, f.width))));
  if (mask.defined()) {
    f.mask = view_expand(to_dtype(mask, computed), {f.batch, f.heads, f.rows, f.keys});
  }
  return f;
}

// Keys that are worked on at a time, and rows.
constexpr int64_t kChunk = 256, kBlock = 128;

// Matrices that products of all row blocks of a head read, packed once. Products with a prefix of
// the columns may read the same memory.
template <class T>
int64_t packed_size(int64_t k, int64_t n) {
  return (kernels::kernels().gemm<T>().packed_size(k, n) + 15) / 16 * 16;
}

// The transposed keys or values [first, first + count) of a head: [width][count].
template <class T>
void pack_turned(const Tensor& t, int64_t b, int64_t h, int64_t first, int64_t count, T* to) {
  kernels::kernels().gemm<T>().pack(t.size(3), count, at<T>(t, b, h, first), 1, t.stride(2), to);
}
// These keys or values as they are: [count][width].
template <class T>
void pack_straight(const Tensor& t, int64_t b, int64_t h, int64_t first, int64_t count, T* to) {
  kernels::kernels().gemm<T>().pack(count, t.size(3), at<T>(t, b, h, first), t.stride(2), 1, to);
}

// c = a b, or c += a b. The caller says where b lies, packed or not.
template <class T>
kernels::Gemm<T> product(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, T* c,
                         int64_t c_row, bool adds) {
  kernels::Gemm<T> g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = a;
  g.a_row = a_row;
  g.c = c;
  g.c_row = c_row;
  g.start = adds ? kernels::Start::kResult : kernels::Start::kZero;
  return g;
}

template <class T>
void multiply(kernels::Gemm<T> g, const T* packed) {
  g.packed_b = packed;
  kernels::kernels().gemm<T>().multiply(g);
}

template <class T>
void multiply(kernels::Gemm<T> g, const T* b, int64_t b_row) {
  g.b = b;
  g.b_row = b_row;
  kernels::kernels().gemm<T>().multiply(g);
}

// The same product of a matrix [k][m], turned.
template <class T>
kernels::Gemm<T> turned(kernels::Gemm<T> g) {
  g.a_row = 1;
  g.a_column = g.m;
  return g;
}

// Adds the mask to the scores of a row for keys [first, first + count), and hides those that the
// row does not see.
template <class T>
void hide(const Flash& f, int64_t b, int64_t h, int64_t row, int64_t first, int64_t count,
          T* scores) {
  const int64_t n = std::clamp<int64_t>(f.seen(row) - first, 0, count);
  if (f.mask.defined()) {
    const int64_t step = f.mask.stride(3);
    const T* mask = at<T>(f.mask, b, h, row) + first * step;
    for (int64_t i = 0; i < n; ++i) scores[i] += mask[i * step];
  }
  std::fill(scores + n, scores + count, -std::numeric_limits<T>::infinity());
}

// Rows of n scores become weights; log_sums gets the logarithms of the sums of their exponentials.
template <class T>
void weigh(int64_t rows, int64_t n, T* weights, T* log_sums) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  for (int64_t r = 0; r < rows; ++r) log_sums[r] = Rows<T>::maximum(n, weights + r * n);
  // Rows that see something, and after them one that sees nothing.
  for (int64_t r = 0, end = 0; r < rows; r = end + 1) {
    end = std::find(log_sums + r, log_sums + rows, kNothing) - log_sums;
    Rows<T>::softmax(end - r, n, weights + r * n, weights + r * n);
    // The greatest weight is 1 divided by the sum.
    for (; r < end; ++r) log_sums[r] -= std::log(Rows<T>::maximum(n, weights + r * n));
    if (end == rows) break;
    log_sums[end] = 0;
    std::fill_n(weights + end * n, n, T(0));
  }
}

template <class T>
void exponentials(int64_t n, T* x) {
  constexpr ScalarType kType =
      std::is_same_v<T, double> ? ScalarType::Float64 : ScalarType::Float32;
  const void* in[1] = {x};
  const int64_t step[1] = {1};
  kernels::loops(kernels::Unary::k_exp)[kType](n, x, in, step, nullptr);
}

// A tensor in whose memory the heads lie inside of the rows, as PyTorch's flash kernel gives it.
Tensor heads_inside(int64_t batch, int64_t heads, int64_t rows, int64_t width, ScalarType dtype) {
  return view_transpose(Tensor::empty({batch, rows, heads, width}, dtype), 1, 2);
}

// Rows [from, to) of a head, in blocks whose scores stay in the second-level cache.
template <class T>
void head_forward(const Flash& f, int64_t b, int64_t h, int64_t from, int64_t to, const Tensor& y,
                  const Tensor& log_sums) {
  const int64_t kept = h / f.shared, chunks = (f.keys + kChunk - 1) / kChunk;
  const int64_t tall = std::clamp<int64_t>(65536 / f.keys, 32, kBlock);
  const int64_t of_keys = packed_size<T>(f.width, f.keys);
  const int64_t of_chunk = packed_size<T>(std::min(kChunk, f.keys), f.width);
  kernels::Scratch space(sizeof(T) * uint64_t(of_keys + chunks * of_chunk + tall * (f.keys + 1)));
  T* keys = space.as<T>();
  T* values = keys + of_keys;
  T* logs = values + chunks * of_chunk;
  T* weights = logs + tall;
  pack_turned(f.k, b, kept, 0, f.keys, keys);
  for (int64_t c = 0; c < chunks; ++c) {
    const int64_t count = std::min(kChunk, f.keys - c * kChunk);
    pack_straight(f.v, b, kept, c * kChunk, count, values + c * of_chunk);
  }
  T* sums = log_sums.data<T>() + b * log_sums.stride(0) + h * log_sums.stride(1);
  for (int64_t first = from; first < to; first += tall) {
    const int64_t rows = std::min(tall, to - first), n = f.seen(first + rows - 1);
    multiply(product(rows, n, f.width, at<T>(f.q, b, h, first), f.q.stride(2), weights, n, false),
             keys);
    Rows<T>::scale_shift(rows * n, weights, T(f.scale), T(0), weights);
    for (int64_t r = 0; r < rows; ++r) hide(f, b, h, first + r, 0, n, weights + r * n);
    weigh(rows, n, weights, logs);
    for (int64_t r = 0; r < rows; ++r) sums[(first + r) * log_sums.stride(2)] = logs[r];
    for (int64_t key = 0; key < n; key += kChunk) {
      // A packed chunk can only be read to its end.
      const int64_t count = std::min(kChunk, f.keys - key), there = std::min(count, n - key);
      const auto g = product(rows, f.width, there, weights + key, n, at<T>(y, b, h, first),
                             y.stride(2), key > 0);
      if (there == count) multiply(g, values + key / kChunk * of_chunk);
      else multiply(g, at<T>(f.v, b, kept, key), f.v.stride(2));
    }
  }
}

// How many tasks a thread takes at least, if each makes `rows` passes over the keys. Keys that are
// one in memory may be so many that the product overflows as an integer.
int64_t grain_of(int64_t rows, const Flash& f) {
  return int64_t(200'000 / (double(rows) * double(f.keys) * double(f.width) + 1)) + 1;
}

template <class T>
void go_forward(const Flash& f, const Tensor& y, const Tensor& log_sums) {
  const int64_t heads = f.batch * f.heads, threads = kernels::thread_count();
  const int64_t pieces = heads >= threads ? 1 : std::min<int64_t>(threads, (f.rows + 31) / 32);
  const int64_t grain = grain_of(2 * (f.rows / pieces + 1), f);
  kernels::parallel_for(heads * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t piece = task % pieces, head = task / pieces;
      head_forward<T>(f, head / f.heads, head % f.heads, f.rows * piece / pieces,
                      f.rows * (piece + 1) / pieces, y, log_sums);
    }
  });
}

struct Back {
  Tensor y, log_sums, of_y;  // the results of the forward pass, and the gradient of y
  Tensor of_q, of_k, of_v;   // the gradients to compute
};

// The dot products of the rows of y and of its gradient, which the gradient of a softmax subtracts.
template <class T>
void dots(const Flash& f, const Back& t, int64_t b, int64_t h, T* to) {
  for (int64_t r = 0; r < f.rows; ++r) {
    const T* y = at<T>(t.y, b, h, r);
    T sums[2];
    kernels::kernels().backward<T>().sums(f.width, at<T>(t.of_y, b, h, r), y, y, T(0), sums);
    to[r] = sums[0];
  }
}

// Chunk by chunk of keys, and for each block by block of rows. The gradients of key and value are
// added to those of the heads before this one that share them.
template <class T>
void head_back(const Flash& f, const Back& t, int64_t b, int64_t h) {
  const int64_t kept = h / f.shared, chunk = std::min(kChunk, f.keys);
  const int64_t tall = std::min(kBlock, f.rows);
  const int64_t across = packed_size<T>(f.width, chunk), along = packed_size<T>(chunk, f.width);
  kernels::Scratch space(sizeof(T) * uint64_t(2 * across + along + 2 * tall * chunk + f.rows));
  T* turned_keys = space.as<T>();
  T* turned_values = turned_keys + across;
  T* keys = turned_values + across;
  T* weights = keys + along;
  T* of_scores = weights + tall * chunk;
  T* row_dots = of_scores + tall * chunk;
  dots(f, t, b, h, row_dots);
  const auto& functions = kernels::kernels().backward<T>();
  const T* logs = t.log_sums.data<T>() + b * t.log_sums.stride(0) + h * t.log_sums.stride(1);
  for (int64_t key = 0; key < f.keys; key += chunk) {
    const int64_t n = std::min(chunk, f.keys - key);
    pack_turned(f.k, b, kept, key, n, turned_keys);
    pack_turned(f.v, b, kept, key, n, turned_values);
    pack_straight(f.k, b, kept, key, n, keys);
    T *of_k = at<T>(t.of_k, b, kept, key), *of_v = at<T>(t.of_v, b, kept, key);
    bool adds = h % f.shared != 0;
    // The rows before the first that sees a key of the chunk are left out.
    for (int64_t first = f.causal ? key / tall * tall : 0; first < f.rows; first += tall) {
      const int64_t rows = std::min(tall, f.rows - first);
      const T* q = at<T>(f.q, b, h, first);
      multiply(product(rows, n, f.width, q, f.q.stride(2), weights, n, false), turned_keys);
      for (int64_t r = 0; r < rows; ++r) {
        T* row = weights + r * n;
        Rows<T>::scale_shift(n, row, T(f.scale), -logs[(first + r) * t.log_sums.stride(2)], row);
        hide(f, b, h, first + r, key, n, row);
      }
      exponentials(rows * n, weights);
      const T* of_y = at<T>(t.of_y, b, h, first);
      multiply(turned(product(n, f.width, rows, weights, 0, of_v, t.of_v.stride(2), adds)), of_y,
               t.of_y.stride(2));
      multiply(product(rows, n, f.width, of_y, t.of_y.stride(2), of_scores, n, false),
               turned_values);
      for (int64_t r = 0; r < rows; ++r) {
        const T* weight = weights + r * n;
        T* row = of_scores + r * n;
        functions.combine(n, row, weight, weight, T(f.scale), -row_dots[first + r] * T(f.scale),
                          T(0), row);
      }
      multiply(product(rows, f.width, n, of_scores, n, at<T>(t.of_q, b, h, first), t.of_q.stride(2),
                       key > 0),
               keys);
      multiply(turned(product(n, f.width, rows, of_scores, 0, of_k, t.of_k.stride(2), adds)), q,
               f.q.stride(2));
      adds = true;
    }
    for (int64_t i = 0; i < n && !adds; ++i) {  // no row sees these keys
      std::fill_n(of_k + i * t.of_k.stride(2), f.width, T(0));
      std::fill_n(of_v + i * t.of_v.stride(2), f.width, T(0));
    }
  }
}

template <class T>
void go_back(const Flash& f, const Back& t) {
  const int64_t grain = grain_of(5 * f.shared * f.rows, f);
  kernels::parallel_for(f.batch * f.groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      for (int64_t k = 0; k < f.shared; ++k) {
        head_back<T>(f, t, task / f.groups, task % f.groups * f.shared + k);
      }
    }
  });
}

}  // namespace

SL_OP(aten__scaled_dot_product_flash_attention_for_cpu) {
  const Tensor& query = args.tensor(0);
  const Flash f = flash_of(args, 0, 3);
  Tensor y = Tensor::empty_like(query, f.q.dtype());
  Tensor log_sums = view_transpose(Tensor::empty({f.batch, f.rows, f.heads}, f.q.dtype()), 1, 2);
  if (f.keys == 0 || y.numel() == 0) {
    fill(y, 0.0);
    fill(log_sums, 0.0);
  } else {
    if (f.width > 1 && y.stride(3) != 1) y = Tensor::empty(query.sizes(), f.q.dtype());
    for_float_type(f.q.dtype(), [&](auto zero) { go_forward<decltype(zero)>(f, y, log_sums); });
  }
  out[0] = to_dtype(y, query.dtype());
  out[1] = log_sums;
}

SL_OP(aten__scaled_dot_product_flash_attention_for_cpu_backward) {
  const Tensor& query = args.tensor(1);
  const Flash f = flash_of(args, 1, 6);
  SL_CHECK(args.tensor(0).sizes() == query.sizes(), kName, "grad_out has the sizes ",
           to_string(args.tensor(0).sizes()), ", query ", to_string(query.sizes()));
  const IntSpan told = args.tensor(5).sizes();
  SL_CHECK(told.size == 3 && told[0] == f.batch && told[1] == f.heads && told[2] == f.rows, kName,
           "logsumexp has the sizes ", to_string(told), ", query ", to_string(query.sizes()));
  SL_CHECK(args.tensor(4).sizes() == query.sizes(), kName, "out has the sizes ",
           to_string(args.tensor(4).sizes()), ", query ", to_string(query.sizes()));
  const ScalarType computed = f.q.dtype();
  Back t;
  t.of_y = rows_together(args.tensor(0), computed);
  t.y = rows_together(args.tensor(4), computed);
  t.log_sums = to_dtype(args.tensor(5), computed);
  t.of_q = heads_inside(f.batch, f.heads, f.rows, f.width, computed);
  t.of_k = heads_inside(f.batch, f.groups, f.keys, f.width, computed);
  t.of_v = heads_inside(f.batch, f.groups, f.keys, f.width, computed);
  if (t.of_q.numel() == 0 || f.keys == 0) {
    for (const Tensor& part : {t.of_q, t.of_k, t.of_v}) fill(part, 0.0);
  } else {
    for_float_type(computed, [&](auto zero) { go_back<decltype(zero)>(f, t); });
  }
  out[0] = to_dtype(t.of_q, query.dtype());
  out[1] = to_dtype(t.of_k, query.dtype());
  out[2] = to_dtype(t.of_v, query.dtype());
}

}  // namespace scriptlang
