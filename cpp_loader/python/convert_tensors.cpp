// Converts tensors, which share memory with Python in both directions, and their quantizers.
#include <nanobind/stl/string.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "arrays.h"
#include "convert.h"
#include "gil.h"
#include "memory.h"
#include "names.h"
#include "stable.h"
#include "values/quantizer.h"
#include "values/raw_view.h"

namespace scriptlang::python {

namespace {

// The ints of a tuple, as sizes or strides.
class TupleInts {
 public:
  explicit TupleInts(nb::handle tuple) {
    size_ = PyTuple_Size(tuple.ptr());
    if (size_ < 0) throw nb::python_error();
    if (size_ > kMaxDims) throw nb::value_error("a tensor has too many dimensions");
    for (int64_t k = 0; k < size_; ++k) ints_[k] = int_of(PyTuple_GET_ITEM(tuple.ptr(), k));
  }
  operator IntSpan() const { return {ints_, size_}; }

 private:
  int64_t size_, ints_[kMaxDims];
};

nb::object tuple_from(IntSpan values) {
  PyObject* tuple = PyTuple_New(values.size);
  if (!tuple) throw nb::python_error();
  for (int64_t k = 0; k < values.size; ++k) {
    PyTuple_SET_ITEM(tuple, k, PyLong_FromLongLong(values[k]));
  }
  return nb::steal(tuple);
}

// What keeps the memory of an engine Storage alive that borrows it from Python: an array or another
// owner of the memory, or a buffer. `storage` is the Python Storage of the same memory, if it
// exists.
struct Loan {
  nb::object owner;
  Py_buffer view{};                         // set if the memory came by the buffer protocol
  std::atomic<PyObject*> storage{nullptr};  // owned; it is set once
  ~Loan() {
    if (view.obj) PyBuffer_Release(&view);
    Py_XDECREF(storage.load());
  }
  // The Python Storage, made of this object where there is none yet.
  nb::object storage_of(nb::object owner);
};

void end_loan(void* user) {
  if (!Py_IsInitialized()) return;  // the process ends, and with it all memory
  with_python([user] { delete static_cast<Loan*>(user); });
}

// A Storage on the buffer of a loan. Read-only memory is copied, since an operator that works in
// place would crash.
Storage* lend(std::unique_ptr<Loan> loan) {
  const Py_buffer& view = loan->view;
  if (!view.readonly) {
    Storage* lent = Storage::borrow(view.buf, view.len, end_loan, loan.get());
    loan.release();
    return lent;
  }
  Storage* copy = Storage::allocate(view.len);
  if (view.len) std::memcpy(copy->data(), view.buf, size_t(view.len));
  return copy;
}

struct Release {
  Storage* storage;
  ~Release() { storage->release(); }
};

// The engine's Storage for a Python one, with a reference for the caller. If the engine has made
// the memory, it is the Storage that owns it.
Storage* storage_from_python(nb::handle storage) {
  Names& n = known();
  const Borrowed owner = n.m_owner.get(storage), data = n.m_data.get(storage);
  if (is_memory(owner)) {
    Storage* own = reinterpret_cast<Memory*>(owner.ptr())->storage;
    own->retain();
    return own;
  }
  auto loan = std::make_unique<Loan>();
  loan->storage = nb::borrow(storage).release().ptr();
  if (std::optional<Array> array = Array::read(data.is_none() ? owner : data)) {
    loan->owner = nb::borrow(data.is_none() ? owner : data);
    Storage* lent = Storage::borrow(array->data, array->nbytes(), end_loan, loan.get());
    loan.release();
    return lent;
  }
  nb::object bytes = nb::borrow(data.is_none() ? owner : data);
  if (data.is_none() && !PyMemoryView_Check(bytes.ptr())) bytes = get(storage, n.a_data);
  if (PyObject_GetBuffer(bytes.ptr(), &loan->view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  return lend(std::move(loan));
}

// The element type for a format of the buffer protocol; Undefined if tensors do not have it.
ScalarType type_of_format(const char* format, Py_ssize_t size) {
  if (!format || !format[0] || (format[1] && !(format[0] == 'Z' && !format[2]))) {
    return ScalarType::Undefined;
  }
  switch (format[0]) {
    case '?': return ScalarType::Bool;
    case 'B': return ScalarType::UInt8;
    case 'b': return ScalarType::Int8;
    case 'h': return ScalarType::Int16;
    case 'i': return size == 4 ? ScalarType::Int32 : ScalarType::Undefined;
    case 'l':
    case 'q':
      return size == 8 ? ScalarType::Int64 : size == 4 ? ScalarType::Int32 : ScalarType::Undefined;
    case 'e': return ScalarType::Float16;
    case 'f': return ScalarType::Float32;
    case 'd': return ScalarType::Float64;
    case 'Z':
      return format[1] == 'f'   ? ScalarType::Complex64
             : format[1] == 'd' ? ScalarType::Complex128
                                : ScalarType::Undefined;
    default: return ScalarType::Undefined;
  }
}

// A new instance of a class of the package. The caller sets its slots.
nb::object bare(const nb::object& cls) {
  PyObject* made = PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(cls.ptr()), 0);
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

// A Python Storage on the memory of `owner`; see the class in scriptlang/storages.py.
nb::object python_storage(nb::object owner) {
  Names& n = known();
  nb::object made = bare(n.storage);
  n.m_data.set(made.ptr(), nb::none());
  n.m_owner.set(made.ptr(), std::move(owner));
  n.m_grown.set(made.ptr(), nb::bool_(false));
  return made;
}

nb::object Loan::storage_of(nb::object from) {
  if (PyObject* there = storage.load(std::memory_order_acquire)) return nb::borrow(there);
  nb::object made = python_storage(std::move(from));
  PyObject* there = nullptr;  // another thread may have made one meanwhile
  if (!storage.compare_exchange_strong(there, made.ptr())) return nb::borrow(there);
  made.inc_ref();
  return made;
}

}  // namespace

bool is_tensor(nb::handle value) { return value.type().is(known().tensor); }

// ---- tensors

static Tensor tensor_from_python(nb::handle value);

// The quantizer of a QuantizedTensor, with a reference for the caller.
static Quantizer* quantizer_from_python(nb::handle value) {
  Names& n = known();
  nb::object q = get(value, n.a_quantizer);
  if (!is_a(q, n.channel_quantizer)) {
    return Quantizer::per_tensor(nb::cast<double>(get(q, n.a_scale)),
                                 int_of(get(q, n.a_zero_point)));
  }
  return Quantizer::per_channel(tensor_from_python(get(q, n.a_scales)),
                                tensor_from_python(get(q, n.a_zero_points)),
                                int_of(get(q, n.a_axis)));
}

static bool is_quantized_tensor(nb::handle value) {
  return !is_tensor(value) && is_a(value, known().quantized_tensor);
}

static Tensor tensor_from_python(nb::handle value) {
  Names& n = known();
  Release storage{storage_from_python(n.m_storage.get(value))};
  const Borrowed type = n.m_dtype.get(value);
  ScalarType dtype = dtype_from_python(type);
  if (itemsize(dtype) == 0 || is_quantized(dtype) != is_quantized_tensor(value)) {
    raise(ErrorKind::MissingOperator, "the native engine has no tensors of ",
          nb::cast<std::string>(nb::str(type.attr("name"))),
          "; load or script with engine=\"python\"");
  }
  Tensor t = Tensor::on_storage(storage.storage, dtype, TupleInts(n.m_size.get(value)),
                                TupleInts(n.m_stride.get(value)), int_of(n.m_offset.get(value)));
  t.impl()->requires_grad = PyObject_IsTrue(n.m_grad.get(value).ptr()) == 1;
  if (is_quantized(dtype)) t.impl()->quantizer = quantizer_from_python(value);
  return t;
}

bool may_need_gradient(nb::handle tensor) {
  Names& n = known();
  return !n.m_autograd.is(tensor, Py_None) || n.m_grad.is(tensor, Py_True);
}

bool shares_memory(const Tensor& made, nb::handle tensor) {
  Names& n = known();
  return made.storage()->lender(end_loan) || is_memory(n.m_owner.get(n.m_storage.get(tensor)));
}

// Notes that a Tensor stands for one in an object.
static void show(nb::handle tensor) {
  known().shown[nb::steal(PyLong_FromVoidPtr(tensor.ptr()))] = tensor;
}

Tensor ToNative::tensor(nb::handle value) {
  Tensor made = tensor_from_python(value);
  if (passed_ && shares_memory(made, value)) passed_->add(value, made);
  if (watching_) watched_.emplace_back(nb::borrow(value), made);
  if (__builtin_expect(may_need_gradient(value), 0)) {
    differentiable_.emplace_back(nb::borrow(value), made);
  }
  if (adopting_) show(value);
  return made;
}

// Makes conversions that keep Tensors return this one.
static void set_known(const Tensor& t, nb::handle tensor) {
  show(tensor);
  known().tensors[nb::steal(PyLong_FromVoidPtr(t.impl()))] = tensor;
}

void ToNative::keep_identity() const {
  for (const auto& [tensor, value] : differentiable_) set_known(value.as_tensor(), tensor);
}

Value ToNative::array(nb::handle value) {
  auto loan = std::make_unique<Loan>();
  std::optional<Array> array = Array::read(value);
  if (array) {
    if (!array->contiguous) return Value();
    loan->owner = nb::borrow(value);
    Release storage{Storage::borrow(array->data, array->nbytes(), end_loan, loan.get())};
    loan.release();
    int64_t sizes[kMaxDims];
    std::copy_n(array->shape, array->ndim, sizes);
    // The sizes of an empty array may overflow; those of others fit into memory.
    if (array->nbytes() == 0) checked_numel({sizes, array->ndim});
    // No check is needed: the array has as many bytes as the sizes require.
    Tensor t = unchecked_on_storage(storage.storage, array->dtype, {}, {}, 0);
    t.impl()->set_contiguous(IntSpan(sizes, array->ndim));
    return t;
  }
  int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE;
  if (PyObject_GetBuffer(value.ptr(), &loan->view, flags) != 0) {
    PyErr_Clear();
    return Value();
  }
  const Py_buffer& view = loan->view;
  ScalarType dtype = type_of_format(view.format, view.itemsize);
  if (dtype == ScalarType::Undefined || view.ndim > kMaxDims) return Value();
  std::vector<int64_t> sizes(view.shape, view.shape + view.ndim);
  checked_numel(sizes);
  Release storage{lend(std::move(loan))};
  // No check is needed: the buffer has as many bytes as the sizes require.
  Tensor t = unchecked_on_storage(storage.storage, dtype, {}, {}, 0);
  t.impl()->set_contiguous(sizes);
  return t;
}

// The entry of a table for an address. It may belong to an earlier object at that address.
static nb::object found_at(const nb::object& table, const void* address) {
  return table.attr("get")(nb::steal(PyLong_FromVoidPtr(const_cast<void*>(address))));
}

// The Python Storage for memory of the engine: the existing one, if there is one.
static nb::object kept_storage(Storage* storage) {
  Names& n = known();
  nb::object found = found_at(n.storages, storage);
  if (!found.is_none() && is_memory(n.m_owner.get(found)) &&
      reinterpret_cast<Memory*>(n.m_owner.get(found).ptr())->storage == storage) {
    return found;
  }
  nb::object made = python_storage(memory_of(storage));
  n.storages[nb::steal(PyLong_FromVoidPtr(storage))] = made;
  return made;
}

nb::object ToPython::storage_of(Storage* storage) {
  if (first_.first == storage) return first_.second;
  if (const nb::object* seen = storages_.find(storage)) { return *seen; }
  nb::object made;
  if (nb::handle there = passed_ ? passed_->with_storage(storage) : nb::handle(); there) {
    made = nb::borrow(known().m_storage.get(there));
  } else if (Loan* loan = static_cast<Loan*>(storage->lender(end_loan))) {
    made = loan->storage_of(loan->owner.is_valid() ? loan->owner : nb::borrow(loan->view.obj));
  } else {
    made = keeps_ ? kept_storage(storage) : python_storage(memory_of(storage));
  }
  if (!first_.first) first_ = {storage, made};
  else storages_.emplace(storage, made);
  return made;
}

nb::object ToPython::tensor_of(const Tensor& t) {
  Names& n = known();
  const nb::object& cls = is_quantized(t.dtype()) ? n.quantized_tensor : n.tensor;
  nb::object made = bare(cls);
  set_tensor(made.ptr(), t);
  return made;
}

// Whether a QuantizedTensor is quantized per tensor, with the parameters of `t`.
static bool is_quantized_as(nb::handle object, const Tensor& t) {
  Ref<Quantizer> q(quantizer_from_python(object));
  return q->is_per_tensor() && t.quantizer() && t.quantizer()->is_per_tensor() &&
         q->scale == t.quantizer()->scale && q->zero_point == t.quantizer()->zero_point;
}

// Whether a Python Tensor has the memory, shape and type of a tensor.
static bool shows(nb::handle object, const Tensor& t) {
  Names& n = known();
  if (!n.m_dtype.is(object, dtype_of(t.dtype())) ||
      int_of(n.m_offset.get(object)) != t.storage_offset() ||
      !(t.sizes() == IntSpan(TupleInts(n.m_size.get(object)))) ||
      !(t.strides() == IntSpan(TupleInts(n.m_stride.get(object))))) {
    return false;
  }
  if (is_quantized(t.dtype()) && !is_quantized_as(object, t)) return false;
  const Borrowed storage = n.m_storage.get(object), owner = n.m_owner.get(storage);
  if (is_memory(owner)) return reinterpret_cast<Memory*>(owner.ptr())->storage == t.storage();
  const Loan* loan = static_cast<const Loan*>(t.storage()->lender(end_loan));
  return loan && loan->storage.load(std::memory_order_acquire) == storage.ptr();
}

nb::object ToPython::same_tensor(const Tensor& t, nb::handle known_one) {
  if (known_one.is_valid() && shows(known_one, t)) return nb::borrow(known_one);
  Names& n = known();
  nb::object found = found_at(n.tensors, t.impl());
  if (!found.is_none() && shows(found, t)) return found;
  nb::object made = tensor_of(t);
  set_known(t, made);
  return made;
}

static nb::ft_mutex reading;  // of the `reads` of all objects

NativeObject::Read NativeObject::note(size_t slot, Read now) const {
  if (now.value) show(now.tensor);
  nb::ft_lock_guard guard(reading);
  if (reads.size() <= slot) reads.resize(slot + 1);
  if (!now.value) return reads[slot];
  return std::exchange(reads[slot], std::move(now));
}

std::vector<size_t> NativeObject::slots_of(nb::handle tensor) const {
  nb::ft_lock_guard guard(reading);
  std::vector<size_t> found;
  for (size_t k = 0; k < reads.size(); ++k) {
    if (reads[k].tensor.is(tensor)) found.push_back(k);
  }
  return found;
}

void follow(nb::handle tensor) {
  if (Turn::is_inside()) return;  // a run of this thread uses the objects
  std::vector<nb::object> holders;
  for (nb::handle object : nb::list(known().instances.attr("values")())) {
    nb::object slots = nb::borrow(known().m_slots.get(object));
    if (nb::isinstance<NativeObject>(slots)) holders.push_back(std::move(slots));
  }
  for (const nb::object& holder : holders) {
    const NativeObject& o = nb::cast<const NativeObject&>(holder);
    const std::vector<size_t> found = o.slots_of(tensor);
    if (found.empty()) continue;
    const Tensor now = tensor_from_python(tensor);
    std::vector<Tensor> before;  // destroyed without the turn, as that may run Python code
    const DomainRef domain = o.domain;
    Turn turn;
    look(&turn, domain, true);
    for (size_t k : found) {
      const Value& slot = o.object->slots[k];
      if (slot.tag() != Tag::Tensor || slot.as_tensor().impl() != o.note(k, {}).value) continue;
      TensorImpl* held = slot.as_tensor().impl();
      if (is_quantized(held->dtype) != is_quantized(now.dtype())) continue;
      // It only keeps the memory: nothing is read by it.
      before.push_back(unchecked_on_storage(held->storage, held->dtype, {}, {}, 0));
      now.storage()->retain();
      held->storage->release();
      held->storage = now.storage();
      held->dtype = now.dtype();
      held->offset = now.storage_offset();
      // `now` was checked when it was made.
      held->set_geometry(now.sizes(), now.strides());
    }
    turn.give();
  }
}

nb::object NativeObject::remember(size_t slot, nb::handle tensor) const {
  if (object->slots[slot].tag() != Tag::Tensor || !is_a(tensor, known().tensor)) return {};
  const Tensor& now = object->slots[slot].as_tensor();
  set_known(now, tensor);
  return note(slot, {now.impl(), nb::borrow(tensor)}).tensor;
}

nb::object NativeObject::read(const Value& slot, ToPython& convert) const {
  convert.keep();
  if (slot.tag() != Tag::Tensor) return convert(slot);
  const size_t k = size_t(&slot - object->slots.data());
  const void* value = slot.as_tensor().impl();
  const Read last = note(k, {});
  nb::object made = convert.same_tensor(
      slot.as_tensor(), last.value == value ? nb::handle(last.tensor) : nb::handle());
  if (!made.is(last.tensor) || last.value != value) note(k, {value, made});
  return made;
}

nb::object ToPython::quantizer_of(const Quantizer& q) {
  Names& n = known();
  if (q.is_per_tensor()) return n.quantizer(q.scale, q.zero_point);
  return n.channel_quantizer(tensor_of(q.scales), tensor_of(q.zero_points), q.axis);
}

void ToPython::set_tensor(PyObject* p, const Tensor& t) {
  Names& n = known();
  if (is_quantized(t.dtype())) {
    SL_CHECK(t.quantizer() != nullptr, "a tensor of ", dtype_name(t.dtype()),
             " came out of an operator that takes no quantized tensor; pass it x.dequantize()");
    set(p, n.a_quantizer, quantizer_of(*t.quantizer()));
  }
  n.m_storage.set(p, storage_of(t.storage()));
  n.m_dtype.set(p, dtype_of(t.dtype()));
  n.m_size.set(p, tuple_from(t.sizes()));
  n.m_stride.set(p, tuple_from(t.strides()));
  n.m_offset.set(p, nb::steal(PyLong_FromLongLong(t.storage_offset())));
  n.m_grad.set(p, nb::bool_(t.requires_grad()));
  n.m_view.set(p, nb::none());
  n.m_trace.set(p, nb::none());
  n.m_autograd.set_first(p, nb::none());
}

void ToNative::tell_shapes() const {
  ToPython convert;
  for (const auto& [object, value] : watched_) {
    const Tensor& t = value.as_tensor();
    const Names& n = known();
    bool same = t.sizes() == IntSpan(TupleInts(n.m_size.get(object))) &&
                t.strides() == IntSpan(TupleInts(n.m_stride.get(object))) &&
                int_of(n.m_offset.get(object)) == t.storage_offset() &&
                (!is_quantized(t.dtype()) || is_quantized_as(object, t));
    if (!same) convert.set_tensor(object.ptr(), t);
  }
}

}  // namespace scriptlang::python
