// Saves the arguments and results of operators.
#include "saved.h"

#include "ops/op.h"
#include "values/list.h"

namespace scriptlang::autograd {

Value sizes_of(const Value& value) {
  if (value.is_tensor()) return int_list(value.as_tensor().sizes());
  Ref<List> sizes = List::make({}, TypeRef());
  if (value.is_list()) {
    for (const Value& item : value.as_list()) sizes->push(sizes_of(item));
  }
  return Value(std::move(sizes));
}

Value frozen(const Value& value) {
  Value copy = value;
  if (value.is_list()) {
    Ref<List> items = List::like(value.as_list());
    items->extend(value.as_list());
    copy = Value(std::move(items));
  }
  copy.publish();
  return copy;
}

Saved save_layout(const Tensor& t) {
  Saved saved;
  saved.kind = 's';
  saved.layout = std::make_unique<const Layout>(t);
  saved.dtype = t.dtype();
  return saved;
}

static SavedTensor save(const Tensor& t, bool is_result, int32_t output) {
  SavedTensor saved;
  saved.elements = detached(t);
  saved.requires_grad = needs_grad(t);
  saved.is_result = is_result;
  saved.edge.output = output;
  if (!is_result) saved.edge = edge_of(t);
  saved.version = t.storage()->version();
  return saved;
}

Saved save(char kind, const Value& value, bool is_result, int32_t output) {
  Saved saved;
  saved.kind = kind == '-' || (kind == 't' && !value.is_tensor()) ? '-' : kind;
  if (saved.kind == '-') {
    saved.value = frozen(value);
  } else if (kind == 't') {
    saved.tensors.push_back(save(value.as_tensor(), is_result, output));
  } else if (!value.is_list()) {
    saved.kind = '-';
    saved.value = frozen(value);
  } else {
    for (const Value& item : value.as_list()) {
      saved.present.push_back(item.is_tensor());
      if (item.is_tensor()) saved.tensors.push_back(save(item.as_tensor(), is_result, output));
      ++output;
    }
  }
  return saved;
}

}  // namespace scriptlang::autograd
