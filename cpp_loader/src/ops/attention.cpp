// Scaled dot-product attention by blocks of query rows: the scores of a block stay in the L2 cache.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "../../kernels/scratch.h"
#include "pointwise.h"
#include "random.h"
#include "row_kernels.h"
#include "view.h"

namespace scriptlang {

namespace {

// The rows of a block: enough for the packing of the keys not to matter, but no more scores than
// fit the cache.
int64_t block_rows(int64_t keys) {
  return std::clamp<int64_t>(65536 / std::max<int64_t>(1, keys), 64, 256);
}

// Smaller blocks cost more than another thread gains.
constexpr int64_t kLeastRows = 32;

struct Attention {
  // All are [batch, heads, rows, width]. mask and noise (dropout's factors for the weights) have a
  // column for every key, or are undefined.
  Tensor q, k, v, mask, noise, y;
  bool causal = false;
  double scale = 1;
};

// Whether all keys of a row of scores are masked.
template <class T>
bool sees_nothing(int64_t n, const T* scores) {
  const T nothing = -std::numeric_limits<T>::infinity();
  return std::all_of(scores, scores + n, [=](T score) { return score == nothing; });
}

// Softmax of each row of n scores; zeros where all keys are masked.
template <class T>
void soft_rows(int64_t rows, int64_t n, T* scores) {
  for (int64_t first = 0, end = 0; first < rows; first = end + 1) {
    end = first;
    while (end < rows && !sees_nothing(n, scores + end * n)) ++end;
    Rows<T>::softmax(end - first, n, scores + first * n, scores + first * n);
    if (end < rows) std::fill_n(scores + end * n, n, T(0));
  }
}

// How many rows of scores become weights at a time.
constexpr int64_t kTogether = 8;

// The address of a row of a head.
template <class T>
T* at(const Tensor& t, int64_t b, int64_t h, int64_t row) {
  return t.data<T>() + b * t.stride(0) + h * t.stride(1) + row * t.stride(2);
}

// Rows of products become weights of the values.
template <class T>
void weigh(const Attention& a, int64_t b, int64_t h, int64_t first, int64_t rows, T* scores) {
  const int64_t keys = a.k.size(2);
  const auto seen = [&](int64_t r) { return a.causal ? std::min(keys, first + r + 1) : keys; };
  if (!a.causal) Rows<T>::scale_shift(rows * keys, scores, T(a.scale), T(0), scores);
  for (int64_t r = 0; r < rows; ++r) {
    T* row = scores + r * keys;
    if (a.causal) Rows<T>::scale_shift(seen(r), row, T(a.scale), T(0), row);
    if (a.mask.defined()) {
      const T* mask = at<T>(a.mask, b, h, first + r);
      const int64_t step = a.mask.stride(3);
      for (int64_t i = 0; i < keys; ++i) row[i] += mask[i * step];
    }
  }
  if (!a.causal) soft_rows(rows, keys, scores);
  for (int64_t r = 0; r < rows && a.causal; ++r) {
    T* row = scores + r * keys;
    soft_rows(1, seen(r), row);
    std::fill(row + seen(r), row + keys, T(0));
  }
  for (int64_t r = 0; r < rows && a.noise.defined(); ++r) {
    T* row = scores + r * keys;
    const T* noise = at<T>(a.noise, b, h, first + r);
    for (int64_t i = 0; i < keys; ++i) row[i] *= noise[i];
  }
}

template <class T>
void run_block(const Attention& a, int64_t b, int64_t h, int64_t first, int64_t rows) {
  int64_t keys = a.k.size(2), width = a.q.size(3);
  kernels::Scratch space(sizeof(T) * uint64_t(rows * keys));
  T* scores = space.as<T>();
  kernels::Gemm<T> g;
  g.m = rows;
  g.n = keys;
  g.k = width;
  g.a = at<T>(a.q, b, h, first);
  g.a_row = a.q.stride(2);
  g.b = at<T>(a.k, b, h, 0);
  g.b_row = 1;
  g.b_column = a.k.stride(2);
  g.c = scores;
  g.c_row = keys;
  kernels::kernels().gemm<T>().multiply(g);
  // All is done to some rows before the next ones, while they are in the first-level cache.
  for (int64_t r = 0; r < rows; r += kTogether) {
    weigh(a, b, h, first + r, std::min(kTogether, rows - r), scores + r * keys);
  }
  g.n = a.v.size(3);
  g.k = keys;
  g.a = scores;
  g.a_row = keys;
  g.b = at<T>(a.v, b, h, 0);
  g.b_row = a.v.stride(2);
  g.b_column = 1;
  g.c = at<T>(a.y, b, h, first);
  g.c_row = a.y.stride(2);
  kernels::kernels().gemm<T>().multiply(g);
}

// The number of blocks that the rows of each head are split into: none is too tall for the cache,
// and there are more of them where that balances the threads.
int64_t block_count(int64_t heads, int64_t rows, int64_t keys) {
  const int64_t most = block_rows(keys), fewest = std::max<int64_t>(1, (rows + most - 1) / most);
  const int64_t threads = kernels::thread_count();
  for (int64_t blocks = fewest; rows / blocks >= kLeastRows; ++blocks) {
    if (heads * blocks % threads == 0 || heads * blocks >= 8 * threads) return blocks;
  }
  return fewest;
}

template <class T>
void run_all(const Attention& a) {
  const int64_t heads = a.y.size(1), rows = a.y.size(2), keys = a.k.size(2);
  if (rows == 0) return;
  const int64_t blocks = block_count(a.y.size(0) * heads, rows, keys);
  const int64_t tasks = a.y.size(0) * heads * blocks;
  const int64_t work = (rows / blocks + 1) * keys * (a.q.size(3) + a.v.size(3));
  kernels::parallel_for(
      tasks, 200'000 / std::max<int64_t>(1, work) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          int64_t block = task % blocks, head = task / blocks % heads;
          int64_t first = rows * block / blocks, last = rows * (block + 1) / blocks;
          run_block<T>(a, task / blocks / heads, head, first, last - first);
        }
      });
}

// Expands to [lead..., rows, width], and joins the leading dimensions so that there are four.
Tensor four_dims(const Tensor& t, IntSpan lead, ScalarType dtype) {
  bool lies_so = t.dim() == 4 && t.dtype() == dtype && lead == IntSpan(t.sizes().data, 2) &&
                 (t.size(3) == 1 || t.stride(3) == 1);
  if (lies_so) return t;
  std::vector<int64_t> sizes(lead.begin(), lead.end());
  sizes.push_back(t.size(t.dim() - 2));
  sizes.push_back(t.size(t.dim() - 1));
  Tensor wide = to_dtype(view_expand(t, sizes), dtype);
  int64_t heads = lead.empty() ? 1 : lead.back();
  int64_t batch = heads == 0 ? 0 : checked_numel(lead) / std::max<int64_t>(1, heads);
  wide = reshape(wide, {batch, heads, sizes[lead.size], sizes[lead.size + 1]});
  return wide.size(3) == 1 || wide.stride(3) == 1 ? wide : to_contiguous(wide);
}

Tensor additive(const Tensor& mask, ScalarType dtype) {
  if (mask.dtype() != ScalarType::Bool) return to_dtype(mask, dtype);
  double nothing = -std::numeric_limits<double>::infinity();
  return where_result(mask, Scalar(0.0), Scalar(nothing), dtype);
}

// Repeats key or value heads that several query heads share.
Tensor repeated_heads(const Tensor& t, int64_t heads) {
  int64_t d = t.dim() - 3, have = t.size(d);
  SL_CHECK(have > 0 && heads % have == 0,
           "Number of heads in key and value must divide the number "
           "of heads in query when enable_gqa is set");
  if (have == heads) return t;
  std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
  sizes.insert(sizes.begin() + d + 1, heads / have);
  Tensor wide = view_expand(view_unsqueeze(t, d + 1), sizes);
  sizes.erase(sizes.begin() + d + 1);
  sizes[size_t(d)] = heads;
  return reshape(wide, sizes);
}

// Whether PyTorch's flash kernel takes tensors of these shapes, be there rows or none.
bool fits_flash(const Tensor& q, const Tensor& k, const Tensor& v, bool dropout, bool grouped) {
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4 || dropout) return false;
  bool heads = grouped || (q.size(1) == k.size(1) && q.size(1) == v.size(1));
  return heads && q.size(0) == k.size(0) && q.size(0) == v.size(0) && q.size(3) == v.size(3) &&
         q.stride(3) == 1 && k.stride(3) == 1 && v.stride(3) == 1;
}

// Whether PyTorch would use its flash kernel, whose result has the query's memory layout; otherwise
// the result is row-major.
bool flashes(const Tensor& q, const Tensor& k, const Tensor& v, bool dropout, bool grouped) {
  return fits_flash(q, k, v, dropout, grouped) && q.size(2) > 0 && k.size(2) > 0;
}

// Of PyTorch's two ways only the flash kernel takes a mask with is_causal, and only one of two or
// four dimensions.
void check_mask(const Tensor& mask, const Tensor& query, bool causal, bool flash) {
  const bool fits = mask.dtype() == ScalarType::Bool || mask.dtype() == ScalarType::Float32 ||
                    mask.dtype() == query.dtype();
  SL_CHECK(fits,
           "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
           "attn_mask.dtype: ",
           dtype_c_name(mask.dtype()), " and  query.dtype: ", dtype_c_name(query.dtype()),
           " instead.");
  if (flash && mask.dim() == 1) {
    raise(ErrorKind::IndexError,
          "Dimension out of range (expected to be in range of [-1, 0], but got -2)");
  }
  const bool taken = flash && (mask.dim() == 2 || mask.dim() == 4) && !mask.requires_grad();
  SL_CHECK(!causal || taken,
           "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
           "is_causal=True");
}

}  // namespace

SL_OP(aten_scaled_dot_product_attention) {
  const Tensor& query = args.tensor(0);
  Tensor key = args.tensor(1), value = args.tensor(2);
  const Tensor& mask = args.opt_tensor(3);
  Attention a;
  a.causal = args.boolean(5);
  SL_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
           "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ",
           query.dim(), " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  SL_CHECK(query.dtype() == key.dtype() && query.dtype() == value.dtype(),
           "Expected query, key, and value to have the same dtype, but got query.dtype: ",
           dtype_c_name(query.dtype()), " key.dtype: ", dtype_c_name(key.dtype()),
           " and value.dtype: ", dtype_c_name(value.dtype()), " instead.");
  if (mask.defined()) {
    bool flash = fits_flash(query, key, value, args.number(4) != 0, args.boolean(7));
    check_mask(mask, query, a.causal, flash);
  }
  if (args.boolean(7) && query.dim() >= 3) {
    SL_CHECK(key.dim() >= 3 && value.dim() >= 3, "enable_gqa needs key and value with heads");
    int64_t heads = query.size(query.dim() - 3);
    key = repeated_heads(key, heads);
    value = repeated_heads(value, heads);
  }
  int64_t width = query.size(query.dim() - 1), keys = key.size(key.dim() - 2);
  SL_CHECK(key.size(key.dim() - 1) == width && value.size(value.dim() - 2) == keys,
           "scaled_dot_product_attention: query ", to_string(query.sizes()), ", key ",
           to_string(key.sizes()), " and value ", to_string(value.sizes()), " do not fit");
  a.scale = args.number(6, 1.0 / std::sqrt(double(width)));
  auto lead = [](const Tensor& t) { return IntSpan(t.sizes().data, t.dim() - 2); };
  std::vector<int64_t> batch = broadcast_shapes(lead(query), lead(key));
  batch = broadcast_shapes(batch, lead(value));
  int64_t rows = query.size(query.dim() - 2), out_width = value.size(value.dim() - 1);
  ScalarType computed = computed_type(query.dtype(), "scaled_dot_product_attention");
  a.q = four_dims(query, batch, computed);
  a.k = four_dims(key, batch, computed);
  a.v = four_dims(value, batch, computed);
  if (mask.defined()) {
    Tensor wide = additive(mask, computed);
    if (wide.dim() < 2) wide = view_unsqueeze(wide, 0);
    std::vector<int64_t> sizes = batch;
    sizes.push_back(rows);
    sizes.push_back(keys);
    wide = view_expand(wide, sizes);
    a.mask = reshape(wide, {a.q.size(0), a.q.size(1), rows, keys});
  }
  if (args.number(4) != 0) {
    a.noise = dropout_noise({a.q.size(0), a.q.size(1), rows, keys}, computed, args.number(4),
                            *ctx.generator);
  }
  a.y = flashes(query, args.tensor(1), args.tensor(2), args.number(4) != 0, args.boolean(7))
            ? Tensor::empty_like(query, computed)
            : Tensor::empty({a.q.size(0), a.q.size(1), rows, out_width}, computed);
  if (a.y.numel() > 0) {
    if (keys == 0) fill(a.y, 0.0);
    else for_float_type(computed, [&](auto zero) { run_all<decltype(zero)>(a); });
  }
  Tensor y = to_dtype(a.y, query.dtype());
  batch.push_back(rows);
  batch.push_back(out_width);
  out[0] = query.dim() == 4 && batch.size() == 4 ? y : view_as_shape(y, batch);
}

}  // namespace scriptlang
