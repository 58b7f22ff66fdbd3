// torchvision's operators: non-maximum suppression, pooling of regions, deformable convolution.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "scratch.h"
#include "../../kernels/parallel.h"
#include "express.h"
#include "linalg.h"
#include "row_kernels.h"

namespace scriptlang {

using namespace express;

namespace {

// ---- non-maximum suppression

template <class T>
Working<int64_t> best_boxes(const T* boxes, const T* scores, int64_t n, double threshold) {
  Working<int64_t> order(as_size(n), 0), kept;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    kernels::worked(8);
    return scores[a] > scores[b] || (std::isnan(scores[a]) && !std::isnan(scores[b]));
  });
  auto area = [](const T* b) { return (b[2] - b[0]) * (b[3] - b[1]); };
  std::vector<bool> suppressed(as_size(n), false);
  for (int64_t at = 0; at < n; ++at) {
    int64_t i = order[size_t(at)];
    if (suppressed[size_t(i)]) continue;
    kept.push_back(i);
    const T* a = boxes + 4 * i;
    kernels::worked(8 * (n - at));
    for (int64_t next = at + 1; next < n; ++next) {
      int64_t j = order[size_t(next)];
      const T* b = boxes + 4 * j;
      T width = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]), T(0));
      T height = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]), T(0));
      T shared = width * height;
      if (shared / (area(a) + area(b) - shared) > threshold) suppressed[size_t(j)] = true;
    }
  }
  return kept;
}

Tensor nms(const Tensor& boxes, const Tensor& scores, double threshold) {
  SL_CHECK(boxes.dim() == 2 && boxes.size(1) == 4,
           "boxes should be a 2d tensor with 4 elements "
           "in dimension 1, got size ",
           to_string(boxes.sizes()));
  SL_CHECK(scores.dim() == 1 && scores.size(0) == boxes.size(0),
           "boxes and scores should have "
           "same number of elements in dimension 0, got ",
           boxes.size(0), " and ", to_string(scores.sizes()));
  ScalarType type = computed_type(boxes.dtype(), "nms");
  Tensor x = contiguous_as(boxes, type), s = contiguous_as(scores, type);
  Working<int64_t> kept;
  for_float_type(type, [&](auto zero) {
    using T = decltype(zero);
    kept = best_boxes(x.data<T>(), s.data<T>(), x.size(0), threshold);
  });
  Tensor result = Tensor::empty({int64_t(kept.size())}, ScalarType::Int64);
  std::copy(kept.begin(), kept.end(), result.data<int64_t>());
  return result;
}

// ---- pooling of regions

void check_regions(const Tensor& input, const Tensor& rois, int64_t height, int64_t width) {
  SL_CHECK(input.dim() == 4, "input should be a 4D tensor (N, C, H, W), got size ",
           to_string(input.sizes()));
  SL_CHECK(rois.dim() == 2 && rois.size(1) == 5,
           "Tensor rois should have 5 columns: batch index, "
           "x1, y1, x2, y2; got size ",
           to_string(rois.sizes()));
  SL_CHECK(height > 0 && width > 0, "the size of the pooled regions must be positive, got ", height,
           " x ", width);
}

template <class T>
int64_t image_of(const T* roi, const Tensor& input) {
  SL_CHECK(roi[0] >= 0 && roi[0] < T(input.size(0)), "rois: there is no image ", double(roi[0]),
           " in a batch of ", input.size(0));
  return int64_t(roi[0]);
}

// A sampling point along one side: two indices and their weights for linear interpolation.
template <class T>
struct Tap {
  int64_t low = 0, high = 0;
  T weight_low = 0, weight_high = 0;
};

// The sampling points of all bins along one side.
template <class T>
struct Side {
  int64_t samples = 0;  // per bin
  Working<Tap<T>> taps;

  Side(T start, T length, int64_t pooled, int64_t ratio, int64_t size) {
    double wanted = ratio > 0 ? double(ratio) : std::ceil(double(length / T(pooled)));
    // Limits the samples: the program may give regions of any size.
    SL_CHECK(wanted <= 1 << 16, "roi_align: a region of length ", double(length), " in ", pooled,
             " bins takes too many samples");
    samples = std::max<int64_t>(int64_t(wanted), 0);
    T step = length / T(pooled);
    for (int64_t i = 0; i < pooled; ++i) {
      for (int64_t j = 0; j < samples; ++j) {
        taps.push_back(tap(start + T(i) * step + (T(j) + T(0.5)) * step / T(samples), size));
      }
    }
  }

  static Tap<T> tap(T at, int64_t size) {
    Tap<T> t;
    if (!(at >= T(-1) && at <= T(size))) return t;
    at = std::max(at, T(0));
    t.low = int64_t(at);
    if (t.low >= size - 1) {
      t.low = t.high = size - 1;
      t.weight_low = 1;
      return t;
    }
    t.high = t.low + 1;
    t.weight_high = at - T(t.low);
    t.weight_low = T(1) - t.weight_high;
    return t;
  }
};

template <class T>
T bin_mean(const T* plane, int64_t width, const Side<T>& rows, const Side<T>& columns, int64_t i,
           int64_t j) {
  T sum = 0;
  for (int64_t a = 0; a < rows.samples; ++a) {
    kernels::worked(8 * columns.samples);
    const Tap<T>& y = rows.taps[size_t(i * rows.samples + a)];
    for (int64_t b = 0; b < columns.samples; ++b) {
      const Tap<T>& x = columns.taps[size_t(j * columns.samples + b)];
      const T *low = plane + y.low * width, *high = plane + y.high * width;
      sum += y.weight_low * (x.weight_low * low[x.low] + x.weight_high * low[x.high]) +
             y.weight_high * (x.weight_low * high[x.low] + x.weight_high * high[x.high]);
    }
  }
  return sum / T(std::max<int64_t>(rows.samples * columns.samples, 1));
}

struct PooledRegions {
  int64_t height, width, ratio = 0;
  double scale;
  bool aligned = false, by_position = false;
};

// roi_align, and ps_roi_align if position-sensitive: then each bin reads its own channels.
template <class T>
void align_region(const Tensor& x, const T* roi, const PooledRegions& p, T* to,
                  int32_t* channel_of) {
  T offset = p.aligned ? T(0.5) : T(0), scale = T(p.scale);
  T x1 = roi[1] * scale - offset, y1 = roi[2] * scale - offset;
  T width = roi[3] * scale - offset - x1, height = roi[4] * scale - offset - y1;
  if (!p.aligned) {
    width = std::max(width, T(1));
    height = std::max(height, T(1));
  }
  int64_t channels = x.size(1), plane = x.size(2) * x.size(3), bins = p.height * p.width;
  Side<T> rows(y1, height, p.height, p.ratio, x.size(2));
  Side<T> columns(x1, width, p.width, p.ratio, x.size(3));
  const T* image = x.data<T>() + image_of(roi, x) * channels * plane;
  for (int64_t c = 0; c < (p.by_position ? channels / bins : channels); ++c) {
    for (int64_t bin = 0; bin < bins; ++bin) {
      int64_t channel = p.by_position ? c * bins + bin : c;
      to[c * bins + bin] =
          bin_mean(image + channel * plane, x.size(3), rows, columns, bin / p.width, bin % p.width);
      if (channel_of) channel_of[c * bins + bin] = int32_t(channel);
    }
  }
}

Tensor roi_align(const Tensor& input, const Tensor& rois, const PooledRegions& p,
                 Tensor* channel_of) {
  check_regions(input, rois, p.height, p.width);
  ScalarType type = computed_type(input.dtype(), "roi_align");
  int64_t channels = input.size(1), bins = p.height * p.width;
  if (p.by_position) {
    SL_CHECK(bins > 0 && channels % bins == 0,
             "input channels must be a multiple of pooling "
             "height * pooling width, got ",
             channels, " for ", p.height, " x ", p.width);
    channels /= bins;
  }
  Tensor x = contiguous_as(input, type), regions = contiguous_as(rois, type);
  Tensor y = Tensor::empty({rois.size(0), channels, p.height, p.width}, type);
  if (channel_of) *channel_of = Tensor::empty(y.sizes(), ScalarType::Int32);
  int64_t each = channels * bins;
  for_float_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < rois.size(0); ++i) {
      if (x.size(2) * x.size(3) == 0) {
        std::fill_n(y.data<T>() + i * each, each, T(0));
        continue;
      }
      align_region(x, regions.data<T>() + 5 * i, p, y.data<T>() + i * each,
                   channel_of ? channel_of->data<int32_t>() + i * each : nullptr);
    }
  });
  return to_dtype(y, input.dtype());
}

// The range [first, last) of a side that a bin covers, clipped to the image.
struct Part {
  int64_t first, last;
};
Part bin_part(double start, double length, int64_t i, int64_t size) {
  auto cut = [&](double at) { return int64_t(std::clamp(at + start, 0.0, double(size))); };
  return {cut(std::floor(double(i) * length)), cut(std::ceil(double(i + 1) * length))};
}

template <class T>
void pool_region(const Tensor& x, const T* roi, const PooledRegions& p, T* best, int32_t* places) {
  T corner[4];
  for (int k = 0; k < 4; ++k) corner[k] = std::round(roi[k + 1] * T(p.scale));
  double height = std::max(double(corner[3] - corner[1]) + 1, 1.0) / double(p.height);
  double width = std::max(double(corner[2] - corner[0]) + 1, 1.0) / double(p.width);
  int64_t channels = x.size(1), columns = x.size(3), plane = x.size(2) * columns;
  const T* image = x.data<T>() + image_of(roi, x) * channels * plane;
  for (int64_t c = 0; c < channels; ++c, image += plane) {
    for (int64_t i = 0; i < p.height; ++i) {
      Part rows = bin_part(double(corner[1]), height, i, x.size(2));
      for (int64_t j = 0; j < p.width; ++j, ++best, ++places) {
        Part across = bin_part(double(corner[0]), width, j, columns);
        bool empty = rows.last <= rows.first || across.last <= across.first;
        *best = empty ? T(0) : std::numeric_limits<T>::lowest();
        *places = -1;
        if (!empty) kernels::worked((rows.last - rows.first) * (across.last - across.first));
        for (int64_t a = rows.first; a < rows.last; ++a)
          for (int64_t b = across.first; b < across.last; ++b)
            if (image[a * columns + b] > *best) {
              *best = image[a * columns + b];
              *places = int32_t(a * columns + b);
            }
      }
    }
  }
}

void roi_pool(const Tensor& input, const Tensor& rois, const PooledRegions& p, Value* out) {
  check_regions(input, rois, p.height, p.width);
  ScalarType type = computed_type(input.dtype(), "roi_pool");
  Tensor x = contiguous_as(input, type), regions = contiguous_as(rois, type);
  Tensor y = Tensor::empty({rois.size(0), x.size(1), p.height, p.width}, type);
  Tensor places = Tensor::empty(y.sizes(), ScalarType::Int32);
  int64_t each = x.size(1) * p.height * p.width;
  for_float_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < rois.size(0); ++i) {
      pool_region(x, regions.data<T>() + 5 * i, p, y.data<T>() + i * each,
                  places.data<int32_t>() + i * each);
    }
  });
  out[0] = to_dtype(y, input.dtype());
  out[1] = places;
}

// ---- deformable convolution

struct Deform {
  int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups;
  int64_t kh = 0, kw = 0, oh = 0, ow = 0;
};

template <class T>
T bilinear(const T* plane, int64_t height, int64_t width, T y, T x) {
  if (!(y > T(-1) && x > T(-1) && y < T(height) && x < T(width))) return 0;
  int64_t top = int64_t(std::floor(y)), left = int64_t(std::floor(x));
  T dy = y - T(top), dx = x - T(left);
  auto at = [&](int64_t i, int64_t j) {
    return i >= 0 && i < height && j >= 0 && j < width ? plane[i * width + j] : T(0);
  };
  return (T(1) - dy) * ((T(1) - dx) * at(top, left) + dx * at(top, left + 1)) +
         dy * ((T(1) - dx) * at(top + 1, left) + dx * at(top + 1, left + 1));
}

// The sampled windows of one image: [channels * kh * kw][oh * ow].
template <class T>
void sample_windows(const Tensor& x, int64_t image, const T* offset, const T* mask, const Deform& d,
                    T* to) {
  int64_t channels = x.size(1), height = x.size(2), width = x.size(3), places = d.oh * d.ow;
  int64_t window = d.kh * d.kw, each = channels / d.offset_groups;
  kernels::parallel_for(
      channels, 4096 / std::max<int64_t>(1, window * places) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const T* plane = x.data<T>() + (image * channels + c) * height * width;
          for (int64_t k = 0; k < window; ++k) {
            int64_t at = c / each * window + k;
            const T *dy = offset + 2 * at * places, *dx = dy + places;
            T* row = to + (c * window + k) * places;
            for (int64_t i = 0; i < d.oh; ++i) {
              for (int64_t j = 0; j < d.ow; ++j) {
                int64_t p = i * d.ow + j;
                int64_t row_at = i * d.stride_h - d.pad_h + k / d.kw * d.dilation_h;
                int64_t column_at = j * d.stride_w - d.pad_w + k % d.kw * d.dilation_w;
                T y = T(row_at) + dy[p], z = T(column_at) + dx[p];
                row[p] =
                    bilinear(plane, height, width, y, z) * (mask ? mask[at * places + p] : T(1));
              }
            }
          }
        }
      });
}

int64_t windows_along(int64_t size, int64_t pad, int64_t dilation, int64_t kernel, int64_t stride) {
  constexpr int64_t kMost = int64_t{1} << 31;
  SL_CHECK(stride > 0 && dilation > 0 && pad >= 0 && stride < kMost && dilation < kMost &&
               pad < kMost && kernel > 0 && kernel < kMost,
           "deform_conv2d: stride and dilation must be positive and padding not negative, got ",
           stride, ", ", dilation, ", ", pad);
  int64_t n = (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  SL_CHECK(n > 0, "Calculated output size too small: an input of ", size, " has no window of ",
           kernel);
  return n;
}

Tensor deform_conv2d(Args args) {
  const Tensor &input = args.tensor(0), &weight = args.tensor(1), &offset = args.tensor(2);
  SL_CHECK(input.dim() == 4 && weight.dim() == 4 && offset.dim() == 4,
           "deform_conv2d: input, "
           "weight and offset must have 4 dimensions, got sizes ",
           to_string(input.sizes()), ", ", to_string(weight.sizes()), ", ",
           to_string(offset.sizes()));
  Deform d{args.integer(5), args.integer(6),  args.integer(7),  args.integer(8),
           args.integer(9), args.integer(10), args.integer(11), args.integer(12)};
  int64_t n = input.size(0), channels = input.size(1), filters = weight.size(0);
  d.kh = weight.size(2);
  d.kw = weight.size(3);
  d.oh = windows_along(input.size(2), d.pad_h, d.dilation_h, d.kh, d.stride_h);
  d.ow = windows_along(input.size(3), d.pad_w, d.dilation_w, d.kw, d.stride_w);
  SL_CHECK(d.groups > 0 && d.offset_groups > 0 && channels % d.groups == 0 &&
               filters % d.groups == 0 && channels % d.offset_groups == 0 &&
               weight.size(1) == channels / d.groups,
           "deform_conv2d: ", channels, " channels and weights of size ", to_string(weight.sizes()),
           " do not fit ", d.groups, " groups and ", d.offset_groups, " offset groups");
  int64_t window = d.kh * d.kw, moves = d.offset_groups * 2 * window;
  SL_CHECK(offset.sizes() == IntSpan({n, moves, d.oh, d.ow}), "offset.shape is not valid: got ",
           to_string(offset.sizes()), ", expected ", to_string({n, moves, d.oh, d.ow}));
  bool masked = args.boolean(13);
  SL_CHECK(!masked || args.tensor(3).sizes() == IntSpan({n, moves / 2, d.oh, d.ow}),
           "mask.shape is not valid: got ", to_string(args.tensor(3).sizes()), ", expected ",
           to_string({n, moves / 2, d.oh, d.ow}));
  ScalarType type = computed_type(input.dtype(), "deform_conv2d");
  Tensor x = contiguous_as(input, type), shift = contiguous_as(offset, type);
  Tensor mask = masked ? contiguous_as(args.tensor(3), type) : Tensor();
  Tensor w = reshape(contiguous_as(weight, type),
                     {d.groups, filters / d.groups, channels / d.groups * window});
  Tensor y = Tensor::empty({n, filters, d.oh, d.ow}, type);
  int64_t places = d.oh * d.ow;
  Tensor windows = Tensor::empty({d.groups, channels / d.groups * window, places}, type);
  for (int64_t i = 0; i < n; ++i) {
    for_float_type(type, [&](auto zero) {
      using T = decltype(zero);
      sample_windows(x, i, shift.data<T>() + i * moves * places,
                     masked ? mask.data<T>() + i * moves / 2 * places : nullptr, d,
                     windows.data<T>());
    });
    copy_into(view_select(y, 0, i), reshape(batched_product(w, windows), {filters, d.oh, d.ow}));
  }
  Tensor bias = to_dtype(args.tensor(4), type);
  return to_dtype(add(y, reshape(bias, {1, bias.numel(), 1, 1})), input.dtype());
}

}  // namespace

SL_OP(torchvision_nms) { out[0] = nms(args.tensor(0), args.tensor(1), args.number(2)); }
SL_OP(torchvision_roi_align) {
  PooledRegions p{args.integer(3), args.integer(4), args.integer(5), args.number(2),
                  args.boolean(6)};
  out[0] = roi_align(args.tensor(0), args.tensor(1), p, nullptr);
}
SL_OP(torchvision_roi_pool) {
  PooledRegions p{args.integer(3), args.integer(4), 0, args.number(2)};
  roi_pool(args.tensor(0), args.tensor(1), p, out);
}
SL_OP(torchvision_deform_conv2d) { out[0] = deform_conv2d(args); }

}  // namespace scriptlang
