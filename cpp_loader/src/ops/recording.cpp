#include "recording.h"

namespace scriptlang {

namespace {

// What a careless read of one element finds.
alignas(kAlignment) char nothing[kAlignment];

thread_local Recording* open_recording = nullptr;

}  // namespace

Storage* symbolic_storage = Storage::borrow(nothing, sizeof nothing, nullptr, nullptr, true);

Recording::Recording() : outer_(open_recording) { open_recording = this; }

Recording::~Recording() { open_recording = outer_; }

Recording& Recording::current() {
  if (open_recording == nullptr) give_up();
  return *open_recording;
}

Tensor Recording::make(IntSpan sizes, IntSpan strides, ScalarType type) {
  Tensor t(TensorImpl::make());
  t.impl()->dtype = type;
  symbolic_storage->retain();
  t.impl()->storage = symbolic_storage;
  if (strides.size == sizes.size && sizes.size > 0) t.impl()->set_geometry(sizes, strides);
  else t.impl()->set_contiguous(sizes);
  values_.push_back(t);
  return t;
}

Tensor Recording::input(const Tensor& like) {
  return make(like.sizes(), like.strides(), like.dtype());
}

Tensor Recording::add(PointwiseStep step, IntSpan sizes, IntSpan strides, ScalarType type) {
  checked_numel(sizes);
  step.result = int(values_.size());
  steps_.push_back(std::move(step));
  return make(sizes, strides, type);
}

Tensor Recording::convert(const Tensor& t, ScalarType type) {
  if (kernels::converter(type, t.dtype()) == nullptr) give_up();
  PointwiseStep step;
  step.count = 1;
  step.in[0].value = find(t);
  step.in[0].type = t.dtype();
  step.produced = t.dtype();
  int64_t strides[kMaxDims];
  bool permuted = t.permuted_strides(strides);
  return add(std::move(step), t.sizes(), permuted ? IntSpan{strides, t.dim()} : IntSpan(), type);
}

int Recording::find(const Tensor& t) const {
  for (size_t i = values_.size(); i-- > 0;) {
    if (values_[i].is(t)) return int(i);
  }
  give_up();
}

}  // namespace scriptlang
