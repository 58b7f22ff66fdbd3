// How convolutions of codes are computed: as products of pixel patches with the weights; depthwise
// ones directly; transposed ones as products whose results are scattered to output pixels.
#include <algorithm>
#include <cstring>

#include "values/prepared.h"
#include "ops/pointwise.h"
#include "conv.h"
#include "ops/view.h"
#include "values/raw_view.h"

namespace scriptlang {

using kernels::DepthwiseRow;
using kernels::QuantizedProduct;
using kernels::Scratch;
using kernels::Sums;

namespace {

constexpr int64_t kPackedConv = 202, kPackedDepthwise = 203, kPackedTransposed = 204;
constexpr int64_t kMostTaps = 256;  // so that depthwise sums are exact in float32

// Sizes of three spatial dimensions; missing leading ones are set to `fill`.
struct Space {
  int64_t d = 1, h = 1, w = 1;

  Space() = default;
  Space(const int64_t* sizes, int64_t n, int64_t fill) : d(fill), h(fill), w(fill) {
    int64_t* to[3] = {&d, &h, &w};
    for (int64_t i = 0; i < n; ++i) *to[3 - n + i] = sizes[i];
  }
  Space(const std::vector<int64_t>& v, int64_t fill) : Space(v.data(), int64_t(v.size()), fill) {}
  int64_t count() const { return d * h * w; }
};

struct Geometry {
  int64_t batch, channels, outputs, groups;
  Space in, out, kernel, stride, padding, dilation;
  int64_t inner() const { return channels / groups; }   // input channels per group
  int64_t columns() const { return outputs / groups; }  // output channels per group
  int64_t pixels() const { return batch * out.count(); }
};

int64_t output_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

void check_numbers(const Convolution& c) {
  auto all = [](const std::vector<int64_t>& v, int64_t least) {
    return std::all_of(v.begin(), v.end(),
                       [&](int64_t x) { return x >= least && x < (int64_t(1) << 31); });
  };
  SL_CHECK(all(c.stride, 1) && all(c.dilation, 1) && all(c.padding, 0) &&
               all(c.output_padding, 0) && c.groups >= 1,
           "a packed convolution has strides, paddings or groups that cannot be");
}

Geometry geometry_of(IntSpan x, const Convolution& c) {
  const Tensor& w = c.weight;
  int64_t n = c.space();
  check_numbers(c);
  Geometry g;
  g.batch = x[0];
  g.channels = x[1];
  g.groups = c.groups;
  g.outputs = c.transposed ? w.size(1) * c.groups : w.size(0);
  int64_t taken = c.transposed ? w.size(0) : w.size(1) * c.groups;
  SL_CHECK(x[1] == taken && w.size(0) % c.groups == 0 && taken % c.groups == 0, "an input of size ",
           to_string(x), " does not fit a weight of size ", to_string(w.sizes()), " in ", c.groups,
           " groups");
  g.in = Space(x.data + 2, n, 1);
  g.kernel = Space(w.sizes().data + 2, n, 1);
  g.stride = Space(c.stride, 1);
  g.padding = Space(c.padding, 0);
  g.dilation = Space(c.dilation, 1);
  Space extra(c.output_padding, 0);
  auto size = [&](int64_t in, int64_t k, int64_t s, int64_t p, int64_t d, int64_t more) {
    int64_t made = c.transposed                   ? (in - 1) * s - 2 * p + d * (k - 1) + more + 1
                   : in + 2 * p < d * (k - 1) + 1 ? 0
                                                  : output_size(in, k, s, p, d);
    SL_CHECK(made > 0, "the padded input, ", to_string(x), ", is smaller than the kernel");
    return made;
  };
  g.out.d = size(g.in.d, g.kernel.d, g.stride.d, g.padding.d, g.dilation.d, extra.d);
  g.out.h = size(g.in.h, g.kernel.h, g.stride.h, g.padding.h, g.dilation.h, extra.h);
  g.out.w = size(g.in.w, g.kernel.w, g.stride.w, g.padding.w, g.dilation.w, extra.w);
  return g;
}

std::vector<int64_t> channels_last(int64_t rank) {
  std::vector<int64_t> order{0};
  for (int64_t d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}

// An uninitialised tensor (N, C, *) in channels-last format.
Tensor empty_channels_last(int64_t batch, int64_t channels, const Space& s, int64_t n,
                           ScalarType type) {
  std::vector<int64_t> sizes{batch};
  if (n == 3) sizes.push_back(s.d);
  sizes.insert(sizes.end(), {s.h, s.w, channels});
  std::vector<int64_t> order{0, n + 1};
  for (int64_t d = 1; d <= n; ++d) order.push_back(d);
  return view_permute(Tensor::empty(sizes, type), order);
}

// Caches data prepared from weights of any number of dimensions.
template <class F>
const float* prepared(const Convolution& c, int64_t purpose, int64_t bytes, F make) {
  const Tensor& w = c.weight;
  // A zero-dim view: only its offset matters, the key reads no element.
  Prepared::Key key(unchecked_view(w, IntSpan(), IntSpan(), w.storage_offset()), purpose);
  int64_t at = 0;
  for (int64_t d = 0; d < w.dim(); ++d) {
    key.details[at++] = w.size(d);
    key.details[at++] = w.stride(d);
  }
  key.details[at] = c.groups;
  return Prepared::get(w.storage(), key, (bytes + 3) / 4, make);
}

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// The codes of the weights with permuted dimensions, row-major.
Tensor ordered_codes(const Tensor& weight, IntSpan order) {
  return to_contiguous(view_permute(codes_of(weight), order));
}

bool zeros_are_zero(const Quantizer& q) {
  if (q.is_per_tensor()) return q.zero_point == 0;
  Tensor zeros = contiguous_as(q.zero_points, ScalarType::Int64);
  return std::all_of(zeros.data<int64_t>(), zeros.data<int64_t>() + zeros.numel(),
                     [](int64_t z) { return z == 0; });
}

struct Run {
  const Convolution& c;
  const Geometry& g;
  const Quantizer& q;  // of the weights
  const uint8_t* x;    // channels last
  bool is_signed;
  float scale;
  int64_t zero;  // zero point, in the codes' own type
  const Finish& finish;
  void* y;

  ScalarType type() const { return is_signed ? ScalarType::QInt8 : ScalarType::QUInt8; }
  kernels::Encoding encoding() const {
    return finish.sums == Sums::kCodes ? encoding_of(type(), finish.scale, finish.zero_point)
                                       : kernels::Encoding();
  }
};

// Writes the patches of codes around output pixels, shifted to be unsigned, as rows for a product.
struct Surroundings {
  const Run& r;
  int64_t group, row_bytes;

  void operator()(int64_t begin, int64_t end, uint8_t* to) const {
    const Geometry& g = r.g;
    for (int64_t pixel = begin; pixel < end; ++pixel, to += row_bytes) {
      int64_t ow = pixel % g.out.w, rest = pixel / g.out.w;
      int64_t oh = rest % g.out.h;
      rest /= g.out.h;
      int64_t od = rest % g.out.d, image = rest / g.out.d;
      uint8_t* at = to;
      for (int64_t kd = 0; kd < g.kernel.d; ++kd) {
        int64_t id = od * g.stride.d - g.padding.d + kd * g.dilation.d;
        for (int64_t kh = 0; kh < g.kernel.h; ++kh, at += g.kernel.w * g.inner()) {
          int64_t ih = oh * g.stride.h - g.padding.h + kh * g.dilation.h;
          bool inside = id >= 0 && id < g.in.d && ih >= 0 && ih < g.in.h;
          line(inside ? ((image * g.in.d + id) * g.in.h + ih) * g.in.w : -1,
               ow * g.stride.w - g.padding.w, at);
        }
      }
      if (r.is_signed) {
        for (uint8_t* p = to; p < at; ++p) *p ^= 0x80;
      }
    }
  }

 private:
  // Copies the taps of one kernel row. first: index of the row's first pixel in x; negative:
  // outside.
  void line(int64_t first, int64_t iw, uint8_t* to) const {
    const Geometry& g = r.g;
    int64_t inner = g.inner(), k = g.kernel.w;
    const uint8_t* from = r.x + first * g.channels + group * inner;
    if (first >= 0 && g.dilation.w == 1 && g.groups == 1 && iw >= 0 && iw + k <= g.in.w) {
      std::memcpy(to, from + iw * g.channels, size_t(k * inner));
      return;
    }
    for (int64_t kw = 0; kw < k; ++kw, to += inner, iw += g.dilation.w) {
      if (first >= 0 && iw >= 0 && iw < g.in.w) {
        std::memcpy(to, from + iw * g.channels, size_t(inner));
      } else {
        std::memset(to, uint8_t(r.zero), size_t(inner));
      }
    }
  }
};

QuantizedProduct product_of(const Run& r, const ColumnTerms& terms) {
  QuantizedProduct p;
  p.offset = terms.offset.data();
  p.b_zero = terms.zeros.empty() ? nullptr : terms.zeros.data();
  p.bias = terms.bias.empty() ? nullptr : terms.bias.data();
  p.factor = terms.factor.data();
  p.sums = r.finish.sums;
  p.relu = r.finish.relu;
  p.encoding = r.encoding();
  return p;
}

void by_products(const Run& r) {
  const Geometry& g = r.g;
  int64_t n = g.columns(), k = g.kernel.count() * g.inner();
  SL_CHECK(k <= kMostProducts, "a quantized convolution sums ", k, " products, more than fit");
  int64_t bytes = aligned(code_matrix_bytes(k, n));
  const float* packed = prepared(r.c, kPackedConv, bytes * g.groups, [&](float* to) {
    Tensor codes = ordered_codes(r.c.weight, channels_last(r.c.weight.dim()));
    for (int64_t group = 0; group < g.groups; ++group) {
      pack_matrix(k, n, codes.data<int8_t>() + group * n * k, k,
                  reinterpret_cast<char*>(to) + group * bytes);
    }
  });
  bool direct = g.kernel.count() == 1 && g.stride.count() == 1 && g.groups == 1 &&
                g.padding.d + g.padding.h + g.padding.w == 0 && !r.is_signed && k % 4 == 0;
  for (int64_t group = 0; group < g.groups; ++group) {
    CodeMatrix b = matrix_at(k, n, reinterpret_cast<const char*>(packed) + group * bytes);
    ColumnTerms terms = column_terms(r.q, b.column_sums, k, group * n, n, r.scale,
                                     r.is_signed ? r.zero + 128 : r.zero, r.c.bias, r.finish);
    QuantizedProduct p = product_of(r, terms);
    p.m = g.pixels();
    p.n = n;
    p.k = k;
    p.a = direct ? r.x : nullptr;
    p.a_row = direct ? k : (k + 3) / 4 * 4;
    p.c = static_cast<char*>(r.y) + group * n * (r.finish.sums == Sums::kCodes ? 1 : 4);
    p.c_row = g.outputs;
    multiply_codes(p, b, Surroundings{r, group, p.a_row});
  }
}

// ---- depthwise

bool is_depthwise(const Run& r) {
  const Geometry& g = r.g;
  return g.groups > 1 && g.inner() == 1 && g.columns() == 1 && g.kernel.count() <= kMostTaps &&
         g.out.d == 1 && g.in.d == 1 && g.kernel.d == 1 && zeros_are_zero(r.q);
}

// Computes pixels [first, last) of an output row, for all of which the same taps are inside.
void depthwise_run(const Run& r, DepthwiseRow row, int64_t image, int64_t oh, int64_t first,
                   int64_t last) {
  const Geometry& g = r.g;
  const uint8_t* taps[kMostTaps];
  for (int64_t t = 0; t < row.taps; ++t) {
    int64_t ih = oh * g.stride.h - g.padding.h + t / g.kernel.w * g.dilation.h;
    int64_t iw = first * g.stride.w - g.padding.w + t % g.kernel.w * g.dilation.w;
    bool inside = ih >= 0 && ih < g.in.h && iw >= 0 && iw < g.in.w;
    taps[t] = inside ? r.x + ((image * g.in.h + ih) * g.in.w + iw) * g.channels : nullptr;
  }
  row.x = taps;
  row.pixels = last - first;
  int64_t at = ((image * g.out.h + oh) * g.out.w + first) * g.outputs;
  row.y = static_cast<char*>(r.y) + at * (r.finish.sums == Sums::kCodes ? 1 : 4);
  kernels::kernels().quantized_rows->depthwise(row);
}

void depthwise(const Run& r) {
  const Geometry& g = r.g;
  int64_t taps = g.kernel.count(), width = aligned(g.channels * 4) / 4;
  const float* w = prepared(r.c, kPackedDepthwise, taps * width * 4, [&](float* to) {
    Tensor codes = to_contiguous(codes_of(r.c.weight));
    std::fill_n(to, taps * width, 0.0f);
    for (int64_t i = 0; i < g.channels * taps; ++i) {
      to[i % taps * width + i / taps] = float(codes.data<int8_t>()[i]);
    }
  });
  std::vector<int32_t> no_sums(as_size(g.channels), 0);
  ColumnTerms terms =
      column_terms(r.q, no_sums.data(), 0, 0, g.channels, r.scale, 0, r.c.bias, r.finish);
  DepthwiseRow row;
  row.channels = g.channels;
  row.step = g.stride.w * g.channels;
  row.taps = taps;
  row.zero = r.zero;
  row.is_signed = r.is_signed;
  row.w = w;
  row.w_row = width;
  row.bias = terms.bias.empty() ? nullptr : terms.bias.data();
  row.factor = terms.factor.data();
  row.sums = r.finish.sums;
  row.relu = r.finish.relu;
  row.encoding = r.encoding();
  row.y_row = g.outputs;
  // The range of pixels whose taps along the row are all inside.
  int64_t reach = (g.kernel.w - 1) * g.dilation.w, room = g.in.w - 1 - reach + g.padding.w;
  int64_t first = std::min((g.padding.w + g.stride.w - 1) / g.stride.w, g.out.w);
  int64_t last = room < 0 ? first : std::max(first, std::min(room / g.stride.w + 1, g.out.w));
  int64_t work = std::max<int64_t>(1, g.out.w * g.channels * taps);
  kernels::parallel_for(g.batch * g.out.h, std::max<int64_t>(1, 60'000 / work),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t line = begin; line < end; ++line) {
                            int64_t image = line / g.out.h, oh = line % g.out.h;
                            for (int64_t i = 0; i < first; ++i)
                              depthwise_run(r, row, image, oh, i, i + 1);
                            if (last > first) depthwise_run(r, row, image, oh, first, last);
                            for (int64_t i = last; i < g.out.w; ++i)
                              depthwise_run(r, row, image, oh, i, i + 1);
                          }
                        });
}

// ---- transposed

// Adds the products of one input pixel to the output pixels that they belong to.
void scatter_pixel(const Geometry& g, const int32_t* products, int64_t id, int64_t ih, int64_t iw,
                   int64_t group, int32_t* image) {
  int64_t n = g.columns();
  for (int64_t kd = 0; kd < g.kernel.d; ++kd) {
    int64_t od = id * g.stride.d - g.padding.d + kd * g.dilation.d;
    for (int64_t kh = 0; kh < g.kernel.h; ++kh) {
      int64_t oh = ih * g.stride.h - g.padding.h + kh * g.dilation.h;
      for (int64_t kw = 0; kw < g.kernel.w; ++kw, products += n) {
        int64_t ow = iw * g.stride.w - g.padding.w + kw * g.dilation.w;
        bool inside = od >= 0 && od < g.out.d && oh >= 0 && oh < g.out.h && ow >= 0 && ow < g.out.w;
        if (!inside) continue;
        int32_t* to = image + ((od * g.out.h + oh) * g.out.w + ow) * g.outputs + group * n;
        for (int64_t j = 0; j < n; ++j) to[j] += products[j];
      }
    }
  }
}

// Adds the sums of one group, with zero points subtracted, to `sums` (all pixels, all outputs).
void transposed_group(const Run& r, int64_t group, int32_t* sums) {
  const Geometry& g = r.g;
  int64_t k = g.inner(), n = g.kernel.count() * g.columns(), rows = g.batch * g.in.count();
  int64_t bytes = aligned(code_matrix_bytes(k, n));
  const float* packed = prepared(r.c, kPackedTransposed, bytes * g.groups, [&](float* to) {
    // Weights (C, O, *) become rows (tap, output) of C codes, group by group.
    std::vector<int64_t> order;
    for (int64_t d = 2; d < r.c.weight.dim(); ++d) order.push_back(d);
    order.insert(order.end(), {1, 0});
    Tensor codes = ordered_codes(r.c.weight, order);
    for (int64_t i = 0; i < g.groups; ++i) {
      pack_matrix(k, n, codes.data<int8_t>() + i * k, g.channels,
                  reinterpret_cast<char*>(to) + i * bytes);
    }
  });
  CodeMatrix b = matrix_at(k, n, reinterpret_cast<const char*>(packed) + group * bytes);
  Ref<Quantizer> centred(Quantizer::per_tensor(1, 0));
  Finish plain;
  plain.sums = Sums::kPlain;
  ColumnTerms terms = column_terms(*centred, b.column_sums, k, 0, n, 1.0f,
                                   r.is_signed ? r.zero + 128 : r.zero, Tensor(), plain);
  Tensor products = Tensor::empty({rows, n}, ScalarType::Int32);
  QuantizedProduct p;
  p.offset = terms.offset.data();
  p.sums = Sums::kPlain;
  p.m = rows;
  p.n = n;
  p.k = k;
  p.a_row = (k + 3) / 4 * 4;
  p.c = products.raw();
  p.c_row = n;
  multiply_codes(p, b, [&](int64_t begin, int64_t end, uint8_t* to) {
    for (int64_t row = begin; row < end; ++row, to += p.a_row) {
      std::memcpy(to, r.x + row * g.channels + group * k, size_t(k));
      for (int64_t i = 0; r.is_signed && i < k; ++i) to[i] ^= 0x80;
    }
  });
  for (int64_t row = 0; row < rows; ++row) {
    int64_t iw = row % g.in.w, rest = row / g.in.w;
    int64_t ih = rest % g.in.h;
    rest /= g.in.h;
    int64_t image = rest / g.in.d;
    scatter_pixel(g, products.data<int32_t>() + row * n, rest % g.in.d, ih, iw, group,
                  sums + image * g.out.count() * g.outputs);
  }
}

void transposed(const Run& r) {
  const Geometry& g = r.g;
  SL_CHECK(zeros_are_zero(r.q), "a transposed convolution takes weights with zero points of 0");
  SL_CHECK(g.inner() * g.kernel.count() <= kMostProducts,
           "a quantized convolution sums more products than fit");
  Tensor sums = Tensor::zeros({g.pixels(), g.outputs}, ScalarType::Int32);
  for (int64_t group = 0; group < g.groups; ++group) {
    transposed_group(r, group, sums.data<int32_t>());
  }
  std::vector<int32_t> none(as_size(g.outputs), 0);
  ColumnTerms t = column_terms(r.q, none.data(), 0, 0, g.outputs, r.scale, 0, r.c.bias, r.finish);
  bool to_codes = r.finish.sums == Sums::kCodes, has_bias = !t.bias.empty();
  kernels::Encoding e = r.encoding();
  e.factor = 1;
  std::vector<float> line(as_size(g.outputs), 0);
  for (int64_t row = 0; row < g.pixels(); ++row) {
    const int32_t* from = sums.data<int32_t>() + row * g.outputs;
    for (size_t j = 0; j < line.size(); ++j) {
      float v = float(from[j]);
      if (to_codes && has_bias) v += t.bias[j];
      v *= t.factor[j];
      if (!to_codes && has_bias) v += t.bias[j];
      line[j] = r.finish.relu ? std::max(v, 0.0f) : v;
    }
    if (to_codes) {
      kernels::kernels().quantized_rows->encode(g.outputs, line.data(), e,
                                                static_cast<uint8_t*>(r.y) + row * g.outputs);
    } else {
      std::copy(line.begin(), line.end(), static_cast<float*>(r.y) + row * g.outputs);
    }
  }
}

}  // namespace

Tensor convolve(const CodesIn& x, const Convolution& c, const Finish& finish) {
  SL_CHECK(c.weight.dtype() == ScalarType::QInt8,
           "a quantized convolution takes a weight of qint8");
  const Quantizer& q = quantizer_of(c.weight, "a quantized convolution");
  SL_CHECK(x.codes.dim() == c.weight.dim(), "an input of ", x.codes.dim(),
           " dimensions does not fit a weight of ", c.weight.dim());
  bool is_signed = x.codes.dtype() == ScalarType::Int8;
  SL_CHECK(is_signed
               ? x.zero_point >= -128 && x.zero_point <= 127
               : x.codes.dtype() == ScalarType::UInt8 && x.zero_point >= 0 && x.zero_point <= 255,
           "a quantized convolution takes inputs of quint8 or qint8 and zero points that fit");
  Geometry g = geometry_of(x.codes.sizes(), c);
  ScalarType made = finish.sums == Sums::kCodes ? x.codes.dtype() : ScalarType::Float32;
  Tensor y = empty_channels_last(g.batch, g.outputs, g.out, c.space(), made);
  if (y.numel() == 0) return y;
  Tensor rows = to_contiguous(view_permute(x.codes, channels_last(x.codes.dim())));
  Run r{c, g, q, rows.data<uint8_t>(), is_signed, x.scale, x.zero_point, finish, y.raw()};
  if (c.transposed) transposed(r);
  else if (is_depthwise(r)) depthwise(r);
  else by_products(r);
  return y;
}

}  // namespace scriptlang
