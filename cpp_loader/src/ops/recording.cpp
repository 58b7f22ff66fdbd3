// Records what operators would compute on symbolic tensors; fused groups use it.
#include "recording.h"

#include <algorithm>

namespace scriptlang {

namespace {

// What a mistaken read of one element of a symbolic tensor finds.
alignas(kAlignment) char nothing[kAlignment];

thread_local Recording* open_recording = nullptr;

}  // namespace

std::atomic<Storage*> symbolic_storage{nullptr};

Recording::Recording() : outer_(open_recording) {
  // As large as possible: views of symbolic tensors are checked when the program runs.
  static Storage* const made = Storage::borrow(nothing, INT64_MAX, nullptr, nullptr, true);
  symbolic_storage.store(made, std::memory_order_relaxed);
  open_recording = this;
}

Recording::~Recording() { open_recording = outer_; }

Recording& Recording::current() {
  if (open_recording == nullptr) give_up();
  return *open_recording;
}

Tensor Recording::make(IntSpan sizes, IntSpan strides, ScalarType type) {
  Tensor t(TensorImpl::make());
  t.impl()->dtype = type;
  Storage* storage = symbolic_storage.load(std::memory_order_relaxed);
  storage->retain();
  t.impl()->storage = storage;
  // No element of symbolic tensors is read; a run checks its own tensors.
  if (strides.size == sizes.size && sizes.size > 0) t.impl()->set_geometry(sizes, strides);
  else t.impl()->set_contiguous(sizes);
  values_.push_back(t);
  return t;
}

Tensor Recording::input(const Tensor& like) {
  return make(like.sizes(), like.strides(), like.dtype());
}

Tensor Recording::add(RecordedStep step, IntSpan sizes, IntSpan strides, ScalarType type) {
  checked_numel(sizes);
  step.result = int(values_.size());
  steps_.push_back(std::move(step));
  return make(sizes, strides, type);
}

Tensor Recording::convert(const Tensor& t, ScalarType type) {
  if (kernels::converter(type, t.dtype()) == nullptr) give_up();
  RecordedStep step;
  step.count = 1;
  step.in[0].value = find(t);
  step.in[0].type = t.dtype();
  step.produced = t.dtype();
  int64_t strides[kMaxDims];
  bool rows = t.is_contiguous() || t.dim() < 2;
  if (!rows) t.like_strides(strides);
  return add(std::move(step), t.sizes(), rows ? IntSpan() : IntSpan{strides, t.dim()}, type);
}

Tensor Recording::add_rows(const Rows& rows, Whole whole, IntSpan sizes, ScalarType type) {
  RecordedStep step;
  step.whole = std::move(whole);
  step.row = rows.function;
  step.row_dims = rows.dims;
  step.count = int(rows.inputs.size());
  for (int k = 0; k < step.count; ++k) {
    const Tensor& t = rows.inputs[size_t(k)];
    step.in[k].type = rows.computed;
    if (t.defined()) step.in[k].value = find(t);
  }
  step.has_params = !rows.params.empty();
  std::copy(rows.params.begin(), rows.params.end(), step.params);
  step.produced = rows.computed;
  return add(std::move(step), sizes, IntSpan(), type);
}

int Recording::find(const Tensor& t) const {
  for (size_t i = values_.size(); i-- > 0;) {
    if (values_[i].is(t)) return int(i);
  }
  give_up();
}

}  // namespace scriptlang
