// einsum and tensordot: permutations around one batched product.
#include <algorithm>

#include "express.h"
#include "linalg.h"

namespace scriptlang {

using namespace express;

namespace {

// Labels of dimensions: letters are 0..51; the dimensions of an ellipsis follow.
constexpr int kLetters = 52;

int label_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  return -1;
}

struct Operand {
  Tensor tensor;
  std::vector<int> labels;  // one for each dimension
};

std::vector<int> read_labels(std::string_view text, int64_t ellipsis_dims, int most_ellipsis,
                             bool* has_ellipsis) {
  std::vector<int> labels;
  *has_ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      SL_CHECK(text.compare(i, 3, "...") == 0 && !*has_ellipsis,
               "einsum(): found '.' that is not part of any ellipsis, or two ellipses, in \"", text,
               "\"");
      *has_ellipsis = true;
      for (int64_t k = 0; k < ellipsis_dims; ++k) {
        labels.push_back(kLetters + most_ellipsis - int(ellipsis_dims) + int(k));
      }
      i += 2;
      continue;
    }
    SL_CHECK(label_of(text[i]) >= 0, "einsum(): invalid subscript given at index ", i,
             " in the equation string, subscripts must be in [a-zA-Z]");
    labels.push_back(label_of(text[i]));
  }
  return labels;
}

std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> parts{""};
  for (char c : text) {
    if (c == mark) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

// Takes the diagonal over dimensions that have the same label in an operand.
void take_diagonals(Operand& o) {
  for (size_t i = 0; i < o.labels.size(); ++i) {
    for (size_t j = i + 1; j < o.labels.size();) {
      if (o.labels[j] != o.labels[i]) {
        ++j;
        continue;
      }
      const Tensor& t = o.tensor;
      int64_t a = int64_t(i), b = int64_t(j);
      SL_CHECK(t.size(a) == t.size(b),
               "einsum(): subscript is repeated for operand but the sizes "
               "don't match, ",
               t.size(b), " != ", t.size(a));
      std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
      std::vector<int64_t> strides(t.strides().begin(), t.strides().end());
      strides[i] += strides[j];
      sizes.erase(sizes.begin() + b);
      strides.erase(strides.begin() + b);
      o.tensor = t.as_strided(sizes, strides, t.storage_offset());
      o.labels.erase(o.labels.begin() + b);
    }
  }
}

bool has(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

int64_t size_of(const Operand& o, int label) {
  auto at = std::find(o.labels.begin(), o.labels.end(), label);
  return at == o.labels.end() ? 1 : o.tensor.size(at - o.labels.begin());
}

// The operand's dimensions in the order of `labels`; missing ones get size 1.
Tensor arranged(const Operand& o, const std::vector<int>& labels) {
  std::vector<int64_t> sizes, strides;
  for (int label : labels) {
    auto at = std::find(o.labels.begin(), o.labels.end(), label);
    int64_t d = at - o.labels.begin();
    sizes.push_back(at == o.labels.end() ? 1 : o.tensor.size(d));
    strides.push_back(at == o.labels.end() ? 0 : o.tensor.stride(d));
  }
  return o.tensor.as_strided(sizes, strides, o.tensor.storage_offset());
}

// Sums over the dimensions that are not kept. Sums of integers are int64; unless this is the last
// step, dropping dimensions of size 1 does not count as a sum.
void sum_out(Operand& o, const std::vector<int>& kept, bool last = false) {
  bool sums = last;
  std::vector<int64_t> dims;
  std::vector<int> labels;
  for (size_t i = 0; i < o.labels.size(); ++i) {
    if (has(kept, o.labels[i])) labels.push_back(o.labels[i]);
    else dims.push_back(int64_t(i));
    if (!has(kept, o.labels[i]) && o.tensor.size(int64_t(i)) != 1) sums = true;
  }
  if (dims.empty()) return;
  Tensor summed = sum_over(o.tensor, dims);
  o.tensor = sums ? summed : to_dtype(summed, o.tensor.dtype());
  o.labels = labels;
}

int64_t product_of(IntSpan sizes) { return checked_numel(sizes); }

// Multiplies two operands and sums over the labels that are not kept.
Operand contract(Operand a, Operand b, const std::vector<int>& kept) {
  std::vector<int> batch, left, right, summed, keep_a = kept, keep_b = kept;
  for (int label : b.labels) {  // labels of size 1 in the other operand are summed first
    if (size_of(b, label) != 1) keep_a.push_back(label);
  }
  for (int label : a.labels) {
    if (size_of(a, label) != 1) keep_b.push_back(label);
  }
  sum_out(a, keep_a);
  sum_out(b, keep_b);
  for (int label : a.labels) {
    bool in_b = has(b.labels, label), out = has(kept, label);
    (in_b ? (out ? batch : summed) : left).push_back(label);
  }
  for (int label : b.labels) {
    if (!has(a.labels, label)) right.push_back(label);
  }
  auto sizes_of = [&](const std::vector<int>& labels) {
    std::vector<int64_t> sizes;
    for (int label : labels) {
      int64_t x = size_of(a, label), y = size_of(b, label);
      SL_CHECK(x == y || x == 1 || y == 1,
               "einsum(): operands do not broadcast with remapped "
               "shapes: sizes ",
               x, " and ", y, " of one subscript");
      sizes.push_back(x == 1 ? y : x);
    }
    return sizes;
  };
  std::vector<int64_t> sizes[4] = {sizes_of(batch), sizes_of(left), sizes_of(right),
                                   sizes_of(summed)};
  bool contracts = false;
  for (int label : summed) contracts |= size_of(a, label) > 1 && size_of(b, label) > 1;
  ScalarType type = promote(a.tensor.dtype(), b.tensor.dtype());
  bool masks = !contracts && type == ScalarType::Bool;
  if (!contracts) {  // an elementwise product
    a.tensor = to_dtype(a.tensor, masks ? ScalarType::UInt8 : type);
    b.tensor = to_dtype(b.tensor, masks ? ScalarType::UInt8 : type);
  }
  if (summed.empty()) {  // has the operands' memory layout
    Operand result;
    result.labels = batch;
    result.labels.insert(result.labels.end(), left.begin(), left.end());
    result.labels.insert(result.labels.end(), right.begin(), right.end());
    result.tensor = to_dtype(mul(arranged(a, result.labels), arranged(b, result.labels)), type);
    return result;
  }
  auto matrix = [&](const Operand& o, const std::vector<int>& rows,
                    const std::vector<int64_t>& row_sizes, bool columns_first) {
    std::vector<int> order = batch;
    std::vector<int64_t> shape = sizes[0];
    auto append = [&](const std::vector<int>& labels, const std::vector<int64_t>& more) {
      order.insert(order.end(), labels.begin(), labels.end());
      shape.insert(shape.end(), more.begin(), more.end());
    };
    if (columns_first) append(summed, sizes[3]);
    append(rows, row_sizes);
    if (!columns_first) append(summed, sizes[3]);
    Tensor t = view_expand(arranged(o, order), shape);
    int64_t n = product_of(row_sizes), k = product_of(sizes[3]);
    return columns_first ? reshape(t, {product_of(sizes[0]), k, n})
                         : reshape(t, {product_of(sizes[0]), n, k});
  };
  Tensor product =
      batched_product(matrix(a, left, sizes[1], false), matrix(b, right, sizes[2], true));
  Operand result;
  std::vector<int64_t> shape = sizes[0];
  shape.insert(shape.end(), sizes[1].begin(), sizes[1].end());
  shape.insert(shape.end(), sizes[2].begin(), sizes[2].end());
  result.tensor = view_as_shape(masks ? to_dtype(product, type) : product, shape);
  result.labels = batch;
  result.labels.insert(result.labels.end(), left.begin(), left.end());
  result.labels.insert(result.labels.end(), right.begin(), right.end());
  return result;
}

Tensor einsum(std::string_view equation, const std::vector<Tensor>& tensors) {
  SL_CHECK(!tensors.empty(), "einsum(): must provide at least one operand");
  size_t arrow = equation.find("->");
  std::vector<std::string> inputs = split(equation.substr(0, arrow), ',');
  SL_CHECK(inputs.size() == tensors.size(),
           "einsum(): ", inputs.size() > tensors.size() ? "fewer" : "more",
           " operands were provided than specified in the equation");
  std::vector<int64_t> spare(tensors.size(), 0);
  int most = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    int64_t letters =
        std::count_if(inputs[i].begin(), inputs[i].end(), [](char c) { return label_of(c) >= 0; });
    bool ellipsis = inputs[i].find("...") != std::string::npos;
    spare[i] = tensors[i].dim() - letters;
    SL_CHECK(spare[i] == 0 || (ellipsis && spare[i] > 0),
             "einsum(): the number of subscripts in "
             "the equation (",
             letters,
             ellipsis ? ") is more than the number of dimensions ("
                      : ") does not match the number of dimensions (",
             tensors[i].dim(), ") for operand ", i, ellipsis ? "" : " and no ellipsis was given");
    most = std::max(most, int(spare[i]));
  }
  std::vector<Operand> operands;
  std::vector<int> count(as_size(kLetters + most), 0);
  bool any_ellipsis = false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    bool ellipsis;
    Operand o{tensors[i], read_labels(inputs[i], spare[i], most, &ellipsis)};
    any_ellipsis = any_ellipsis || ellipsis;
    for (int label : o.labels) ++count[size_t(label)];
    take_diagonals(o);
    operands.push_back(std::move(o));
  }
  std::vector<int> wanted;
  if (arrow != std::string::npos) {
    bool ellipsis;
    wanted = read_labels(equation.substr(arrow + 2), most, most, &ellipsis);
    for (size_t i = 0; i < wanted.size(); ++i) {
      SL_CHECK(std::count(wanted.begin(), wanted.end(), wanted[i]) == 1,
               "einsum(): output subscript appears more than once in the output");
      SL_CHECK(wanted[i] >= kLetters || count[size_t(wanted[i])] > 0,
               "einsum(): output subscript does not appear in the equation for any input operand");
    }
  } else {
    for (int k = 0; k < most; ++k) wanted.push_back(kLetters + k);
    for (int label = 0; label < kLetters; ++label) {
      if (count[size_t(label)] == 1) wanted.push_back(label);
    }
  }
  while (operands.size() > 1) {
    std::vector<int> kept = wanted;
    for (size_t i = 2; i < operands.size(); ++i) {
      kept.insert(kept.end(), operands[i].labels.begin(), operands[i].labels.end());
    }
    Operand joined = contract(operands[0], operands[1], kept);
    operands.erase(operands.begin());
    operands[0] = std::move(joined);
  }
  sum_out(operands[0], wanted, true);
  return arranged(operands[0], wanted);
}

Tensor tensordot(const Tensor& a, const Tensor& b, const Ints& dims_a, const Ints& dims_b) {
  SL_CHECK(dims_a.size() == dims_b.size(), "both dimension lists should have same length");
  SL_CHECK(a.dtype() == b.dtype(), "tensordot: both inputs should have same dtype");
  Operand left{a, {}}, right{b, {}};
  SL_CHECK(a.dim() + b.dim() <= kLetters, "tensordot: too many dimensions");
  for (int64_t d = 0; d < a.dim(); ++d) left.labels.push_back(int(d));
  for (int64_t d = 0; d < b.dim(); ++d) right.labels.push_back(int(a.dim() + d));
  for (int64_t i = 0; i < dims_a.size(); ++i) {
    SL_CHECK(a.dim() > 0 && b.dim() > 0, "tensordot: a zero-dim tensor has nothing to contract");
    int64_t x = wrap_dim(dims_a[i], a.dim()), y = wrap_dim(dims_b[i], b.dim());
    SL_CHECK(a.size(x) == b.size(y) || a.size(x) == 1 || b.size(y) == 1,
             "contracted dimensions need to match, but first has size ", a.size(x), " in dim ", x,
             " and second has size ", b.size(y), " in dim ", y);
    right.labels[size_t(y)] = left.labels[size_t(x)];
  }
  std::vector<int> wanted;
  for (int label : left.labels) {
    if (!has(right.labels, label)) wanted.push_back(label);
  }
  for (int label : right.labels) {
    if (!has(left.labels, label)) wanted.push_back(label);
  }
  Operand product = contract(left, right, wanted);
  return to_dtype(arranged(product, wanted), promote(a.dtype(), b.dtype()));
}

}  // namespace

SL_OP(aten_einsum) { out[0] = einsum(args.string(0), args.tensors(1)); }
SL_OP(aten_tensordot) {
  out[0] = tensordot(args.tensor(0), args.tensor(1), args.ints(2), args.ints(3));
}
SL_OP(aten_linalg_multi_dot) {
  std::vector<Tensor> tensors = args.tensors(0);
  SL_CHECK(tensors.size() >= 2, "multi_dot(): expected at least 2 tensors but got ",
           tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    bool end = i == 0 || i + 1 == tensors.size();
    SL_CHECK(tensors[i].dim() == 2 || (end && tensors[i].dim() == 1), "multi_dot(): tensor ", i,
             " must be 2D but got ", tensors[i].dim(), "D");
  }
  Tensor result = tensors[0];
  for (size_t i = 1; i < tensors.size(); ++i) result = matmul(result, tensors[i]);
  out[0] = result;
}
SL_OP(aten_chain_matmul) {
  std::vector<Tensor> tensors = args.tensors(0);
  for (const Tensor& t : tensors) {
    SL_CHECK(t.dim() == 2, "Tensor dimension is ", t.dim(), ", expected 2 instead.");
  }
  SL_CHECK(!tensors.empty(), "chain_matmul(): Expected one or more matrices");
  Tensor result = tensors[0];
  for (size_t i = 1; i < tensors.size(); ++i) result = matmul(result, tensors[i]);
  out[0] = result;
}
SL_OP(aten_linalg_matmul) { out[0] = matmul(args.tensor(0), args.tensor(1)); }
SL_OP(aten_linalg_vecdot) {
  const Tensor& x = args.tensor(0);
  SL_CHECK(is_floating(x.dtype()) || is_complex(x.dtype()),
           "linalg.vecdot: Expected a floating "
           "point or complex tensor as input. Got ",
           dtype_display_name(x.dtype()));
  SL_CHECK(x.dtype() == args.tensor(1).dtype(),
           "linalg.vecdot: Expected vectors of the same "
           "dtype, got ",
           dtype_display_name(x.dtype()), " and ", dtype_display_name(args.tensor(1).dtype()));
  Tensor left = is_complex(x.dtype()) ? conj(x) : x;
  Tensor product = mul(left, args.tensor(1));
  out[0] = to_dtype(sum_over(product, {wrap_dim(args.integer(2), product.dim())}), product.dtype());
}
SL_OP(aten_bilinear) {
  const Tensor& a = args.tensor(0);
  const Tensor& b = args.tensor(1);
  if (const Tensor bias = args.opt_tensor(3); bias.defined() && bias.dim() > 0) {
    const int64_t given = bias.size(bias.dim() - 1), wanted = args.tensor(2).size(0);
    SL_CHECK(given == wanted, "bilinear(): bias size does not match weight size: got ", given,
             " but expected ", wanted);
  }
  Tensor y = einsum("...i,oij,...j->...o", {a, args.tensor(2), b});
  out[0] = args.opt_tensor(3).defined() ? add(y, args.tensor(3)) : y;
}

}  // namespace scriptlang
