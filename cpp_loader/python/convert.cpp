// Converts Python values to engine values and back.
#include "convert.h"

#include <nanobind/stl/string.h>

#include "arrays.h"
#include "member.h"
#include "memory.h"
#include "values/quantizer.h"
#include "values/raw_view.h"
#include "values/type.h"

namespace scriptlang::python {

namespace {

nb::object interned(const char* text) { return nb::steal(PyUnicode_InternFromString(text)); }

constexpr size_t kMostCodes = 64;  // of element types that are looked for among those met

// What is looked up in the Python package, once.
struct Names {
  nb::object tensor, storage, script_object, device, enum_value, future, by_code;
  nb::object quantized_tensor, quantizer, channel_quantizer, custom_class;
  nb::object weak_reference;
  nb::object instances;  // WeakValueDictionary: address of an Object -> ScriptObject
  nb::object storages;   // the same of the Storages of attributes, tensors: of their Tensors
  nb::object tensors;
  nb::object classes;        // WeakKeyDictionary: class type -> capsule of its ClassRef
  nb::object array;          // numpy.ndarray
  nb::object dtypes[256]{};  // by code, those that were met

  Member m_storage{tensor, "_storage"}, m_dtype{tensor, "dtype"}, m_size{tensor, "_size"},
      m_stride{tensor, "_stride"}, m_offset{tensor, "_offset"}, m_grad{tensor, "_requires_grad"},
      m_view{tensor, "_view"}, m_trace{tensor, "_trace"}, m_autograd{tensor, "_autograd"};
  Member m_data{storage, "_data"}, m_owner{storage, "owner"}, m_grown{storage, "has_grown"};
  Member m_type{script_object, "type"}, m_slots{script_object, "slots"};

  // Attributes that are not slots of these.
  nb::object a_data = interned("data"), a_code = interned("code"),
             a_quantizer = interned("quantizer"), a_scale = interned("scale"),
             a_zero_point = interned("zero_point"), a_scales = interned("scales"),
             a_zero_points = interned("zero_points"), a_axis = interned("axis");
};
Names* names = nullptr;

__attribute__((noinline, cold)) Names& look_up() {
  Registry lock;  // imports let other threads come here
  if (names) return *names;
  nb::module_ tensor = nb::module_::import_("scriptlang.tensors");
  nb::module_ objects = nb::module_::import_("scriptlang.objects");
  nb::module_ dtypes = nb::module_::import_("scriptlang.dtypes");
  nb::module_ quantized = nb::module_::import_("scriptlang.ops.quantization.quantized_tensors");
  nb::module_ weakref = nb::module_::import_("weakref");
  Names* made = new Names{tensor.attr("Tensor"),
                          tensor.attr("Storage"),
                          objects.attr("ScriptObject"),
                          objects.attr("Device"),
                          objects.attr("EnumValue"),
                          objects.attr("Future"),
                          dtypes.attr("by_code"),
                          quantized.attr("QuantizedTensor"),
                          quantized.attr("Quantizer"),
                          quantized.attr("ChannelQuantizer"),
                          nb::module_::import_("scriptlang.types").attr("custom_class"),
                          weakref.attr("ref"),
                          weakref.attr("WeakValueDictionary")(),
                          weakref.attr("WeakValueDictionary")(),
                          weakref.attr("WeakValueDictionary")(),
                          weakref.attr("WeakKeyDictionary")(),
                          nb::module_::import_("numpy").attr("ndarray")};
  set_array_class(made->array);
  names = made;
  return *names;
}

inline Names& known() { return __builtin_expect(names != nullptr, 1) ? *names : look_up(); }

bool is_a(nb::handle value, const nb::object& type) {
  return value.type().is(type) || PyObject_IsInstance(value.ptr(), type.ptr()) == 1;
}

nb::object get(nb::handle object, const nb::object& name) {
  PyObject* value = PyObject_GetAttr(object.ptr(), name.ptr());
  if (!value) throw nb::python_error();
  return nb::steal(value);
}

void set(PyObject* object, const nb::object& name, nb::handle value) {
  if (PyObject_SetAttr(object, name.ptr(), value.ptr()) != 0) throw nb::python_error();
}

nb::object dtype_of(ScalarType type) {
  nb::object& dtype = known().dtypes[uint8_t(type)];
  if (!dtype.is_valid()) {
    nb::object found = known().by_code(int64_t(type));
    dtype = std::move(found);
  }
  return dtype;
}

int64_t int_of(nb::handle value) {
  long long number = PyLong_AsLongLong(value.ptr());
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

ScalarType dtype_from_python(nb::handle dtype) {
  for (size_t code = 0; code < kMostCodes; ++code) {
    if (known().dtypes[code].is(dtype)) return ScalarType(code);
  }
  return ScalarType(int_of(get(dtype, known().a_code)));
}

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

// ---- tensors

// What an engine Storage borrows from: an array or another owner of the memory, and the Python
// Storage of the same memory, if one is there yet.
struct Loan {
  nb::object owner;
  Py_buffer view{};  // where the owner was asked for its memory
  nb::object storage;
  ~Loan() {
    if (view.obj) PyBuffer_Release(&view);
  }
};

void end_loan(void* user) {
  if (!Py_IsInitialized()) return;  // the process ends: its memory goes anyway
  nb::gil_scoped_acquire gil;
  delete static_cast<Loan*>(user);
}

// Over what a loan has asked for. Memory that Python may not write is copied: an operator that
// works in place would crash.
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

// One reference to the engine's Storage of a Python one: its own where it has made the memory.
Storage* storage_from_python(nb::handle storage) {
  Names& n = known();
  nb::handle owner = n.m_owner.get(storage), data = n.m_data.get(storage);
  if (is_memory(owner)) {
    Storage* own = reinterpret_cast<Memory*>(owner.ptr())->storage;
    own->retain();
    return own;
  }
  auto loan = std::make_unique<Loan>();
  loan->storage = nb::borrow(storage);
  if (std::optional<Array> array = Array::read(data.is_none() ? owner : data)) {
    loan->owner = nb::borrow(data.is_none() ? owner : data);
    Storage* lent = Storage::borrow(array->data, array->nbytes(), end_loan, loan.get());
    loan.release();
    return lent;
  }
  nb::object bytes = data.is_none() ? get(storage, n.a_data) : nb::borrow(data);
  if (PyObject_GetBuffer(bytes.ptr(), &loan->view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  return lend(std::move(loan));
}

// The element type that a format of the buffer protocol names; Undefined for others.
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

// A new instance of a class of the package, whose slots the caller sets.
nb::object bare(const nb::object& cls) {
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  PyObject* made = type->tp_alloc(type, 0);
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

// A Python Storage over what belongs to `owner`; see the class.
nb::object python_storage(nb::object owner) {
  Names& n = known();
  nb::object made = bare(n.storage);
  n.m_data.set(made.ptr(), nb::none());
  n.m_owner.set(made.ptr(), std::move(owner));
  n.m_grown.set(made.ptr(), nb::bool_(false));
  return made;
}

}  // namespace

bool is_tensor(nb::handle value) { return value.type().is(known().tensor); }

bool is_plain_array(nb::handle value) { return value.type().is(known().array); }

bool is_object_of(nb::handle value, nb::handle cls) {
  return value.type().is(known().script_object) && known().m_type.get(value).is(cls);
}

// The conversion points of tensors.

static Tensor tensor_from_python(nb::handle value);

// How a QuantizedTensor is quantized; one reference for the caller.
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
  nb::handle type = n.m_dtype.get(value);
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
  return !n.m_autograd.get(tensor).is_none() || n.m_grad.get(tensor).is(Py_True);
}

Tensor ToNative::tensor(nb::handle value) {
  Tensor made = tensor_from_python(value);
  if (watching_) watched_.emplace_back(nb::borrow(value), made);
  return made;
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
    if (array->nbytes() == 0) checked_numel({sizes, array->ndim});  // others fit into memory
    // The sizes come next; the array has as many bytes.
    Tensor t = unchecked_on_storage(storage.storage, array->dtype, {}, {}, 0);
    t.impl()->set_contiguous(IntSpan(sizes, array->ndim));  // as said
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
  // The sizes come next; the buffer has as many bytes.
  Tensor t = unchecked_on_storage(storage.storage, dtype, {}, {}, 0);
  t.impl()->set_contiguous(sizes);  // as said
  return t;
}

// Under an address that may have been another's before.
static nb::object found_at(const nb::object& table, const void* address) {
  return table.attr("get")(nb::steal(PyLong_FromVoidPtr(const_cast<void*>(address))));
}

// The Python Storage of memory that the engine has made, which somebody may have already.
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
  if (Loan* loan = static_cast<Loan*>(storage->lender(end_loan))) {
    if (!loan->storage.is_valid()) {
      loan->storage = loan->owner.is_valid() ? python_storage(loan->owner)
                                             : python_storage(nb::borrow(loan->view.obj));
    }
    made = loan->storage;
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

// Whether a Tensor is what a value would become: the same memory in the same shape.
static bool shows(nb::handle object, const Tensor& t) {
  Names& n = known();
  if (!n.m_dtype.get(object).is(dtype_of(t.dtype())) ||
      int_of(n.m_offset.get(object)) != t.storage_offset() ||
      !(t.sizes() == IntSpan(TupleInts(n.m_size.get(object)))) ||
      !(t.strides() == IntSpan(TupleInts(n.m_stride.get(object))))) {
    return false;
  }
  if (is_quantized(t.dtype()) && !is_quantized_as(object, t)) return false;
  nb::handle storage = n.m_storage.get(object), owner = n.m_owner.get(storage);
  if (is_memory(owner)) return reinterpret_cast<Memory*>(owner.ptr())->storage == t.storage();
  const Loan* loan = static_cast<const Loan*>(t.storage()->lender(end_loan));
  return loan && loan->storage.is(storage);
}

nb::object ToPython::same_tensor(const Tensor& t, nb::handle known_one) {
  if (known_one.is_valid() && shows(known_one, t)) return nb::borrow(known_one);
  Names& n = known();
  nb::object found = found_at(n.tensors, t.impl());
  if (!found.is_none() && shows(found, t)) return found;
  nb::object made = tensor_of(t);
  n.tensors[nb::steal(PyLong_FromVoidPtr(t.impl()))] = made;
  return made;
}

nb::object NativeObject::remember(size_t slot, nb::handle tensor) const {
  if (object->slots[slot].tag() != Tag::Tensor || !is_a(tensor, known().tensor)) return {};
  if (reads.size() <= slot) reads.resize(slot + 1);
  reads[slot].value = object->slots[slot].as_tensor().impl();
  return std::exchange(reads[slot].tensor, nb::borrow(tensor));
}

nb::object NativeObject::read(const Value& slot, ToPython& convert) const {
  convert.keep();
  if (slot.tag() != Tag::Tensor) return convert(slot);
  const size_t k = size_t(&slot - object->slots.data());
  if (reads.size() <= k) reads.resize(k + 1);
  const void* value = slot.as_tensor().impl();
  nb::object made = convert.same_tensor(slot.as_tensor(),
                                        reads[k].value == value ? reads[k].tensor : nb::handle());
  if (reads.size() <= k) reads.resize(k + 1);  // what was made may have let others in
  reads[k] = {value, made};
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

// ---- classes and instances

// A weak reference, so that the engine's types do not keep Python's alive, nor the other way.
std::shared_ptr<void> host_of(nb::handle type) {
  return std::shared_ptr<void>(known().weak_reference(type).release().ptr(), [](void* p) {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire gil;
    Py_DECREF(static_cast<PyObject*>(p));
  });
}

// Classes of PyTorch's C++ library, whose objects operators make.
constexpr char kCustomClasses[] = "__torch__.torch.classes.";

static nb::object python_type(const std::shared_ptr<void>& host, const std::string& name) {
  nb::object type = nb::none();
  if (!host && name.compare(0, sizeof kCustomClasses - 1, kCustomClasses) == 0) {
    return known().custom_class(name);
  }
  if (host) type = nb::handle(static_cast<PyObject*>(host.get()))();
  if (type.is_none()) {
    raise(ErrorKind::TypeError, "the class ", name, " is not known to Python here");
  }
  return type;
}

nb::object type_of(const ClassType& cls) { return python_type(cls.host, cls.name); }

void set_class_of(nb::handle type, const ClassRef& cls) {
  cls->host = host_of(type);
  known().classes[type] =
      nb::capsule(new ClassRef(cls), [](void* p) noexcept { delete static_cast<ClassRef*>(p); });
}

ClassRef class_of(nb::handle type) {
  auto find = [&] { return nb::object(known().classes.attr("get")(type)); };
  nb::object held = find();
  if (!held.is_none()) return *static_cast<ClassRef*>(nb::cast<nb::capsule>(held).data());
  Registry lock;
  held = find();
  if (!held.is_none()) return *static_cast<ClassRef*>(nb::cast<nb::capsule>(held).data());
  ClassRef cls = ClassType::make(nb::cast<std::string>(nb::str(type.attr("name"))));
  if (nb::hasattr(type, "attributes")) {
    for (nb::handle attribute : type.attr("attributes")) {
      cls->attributes.push_back(nb::cast<std::string>(nb::str(attribute.attr("name"))));
    }
  }
  set_class_of(type, cls);
  return cls;
}

// The instance whose slots these are; made when it is not there yet.
nb::object ToPython::instance_of(const Ref<Object>& object) {
  nb::object key = nb::steal(PyLong_FromVoidPtr(object.get()));
  nb::object found = known().instances.attr("get")(key);
  if (!found.is_none()) return found;
  Registry lock;
  found = known().instances.attr("get")(key);
  if (!found.is_none()) return found;
  if (!domain_) domain_ = DomainRef(Domain::make());
  nb::object type = python_type(object->type->host, object->type->name);
  nb::object made = known().script_object(type, nb::cast(NativeObject{object, domain_}));
  known().instances[key] = made;
  return made;
}

void ToNative::add(const DomainRef& domain) {
  if (!domain_) domain_ = domain;
  else join_domains(domain_, domain);
}

Value ToNative::object(nb::handle value, int depth) {
  nb::handle slots = known().m_slots.get(value);
  if (nb::isinstance<NativeObject>(slots)) {
    const NativeObject& there = nb::cast<NativeObject&>(slots);
    if (there.whole) {
      Value found(there.object);
      if (!domain_) domain_ = there.domain;
      else add(DomainRef(there.domain));  // which may let other threads in
      return found;
    }
  }
  Adoption lock;  // one that another thread was filling is whole now, or was given up
  return adopt(value, depth);
}

Value ToNative::adopt(nb::handle value, int depth) {
  nb::object slots = nb::borrow(known().m_slots.get(value));
  if (nb::isinstance<NativeObject>(slots)) {
    const NativeObject& there = nb::cast<NativeObject&>(slots);
    Value found(there.object);
    add(DomainRef(there.domain));
    return found;
  }
  if (!domain_) domain_ = DomainRef(Domain::make());
  ClassRef cls = class_of(known().m_type.get(value));
  Ref<Object> made = Object::make(cls);
  nb::list old = nb::cast<nb::list>(slots);
  adopted_.push_back(old);
  made->slots.resize(old.size());
  // In place first: an object may hold itself.
  nb::object fresh = nb::cast(NativeObject{made, domain_, false});
  value.attr("slots") = fresh;
  known().instances[nb::steal(PyLong_FromVoidPtr(made.get()))] = value;
  try {
    for (size_t k = 0; k < old.size(); ++k) made->slots[k] = (*this)(old[k], depth + 1);
  } catch (...) {
    value.attr("slots") = old;
    throw;
  }
  NativeObject& there = nb::cast<NativeObject&>(fresh);
  there.whole = true;
  for (size_t k = 0; k < old.size(); ++k) there.remember(k, old[k]);
  return made;
}

// ---- containers

Value ToNative::list_of(nb::handle value, int depth) {
  if (const Value* seen = seen_.find(value.ptr())) return *seen;
  Ref<List> list = List::make();
  seen_.emplace(value.ptr(), list);
  for (nb::handle item : nb::borrow<nb::list>(value)) { list->push((*this)(item, depth + 1)); }
  return list;
}

Value ToNative::dict_of(nb::handle value, int depth) {
  if (const Value* seen = seen_.find(value.ptr())) return *seen;
  Ref<Dict> dict = Dict::make();
  seen_.emplace(value.ptr(), dict);
  for (auto [k, v] : nb::borrow<nb::dict>(value)) {
    dict->set((*this)(k, depth + 1), (*this)(v, depth + 1));
  }
  return dict;
}

Value ToNative::tuple_of(nb::handle value, int depth) {
  if (const Value* seen = seen_.find(value.ptr())) return *seen;
  std::vector<Value> items;
  for (nb::handle item : nb::borrow<nb::tuple>(value)) items.push_back((*this)(item, depth + 1));
  TypeRef named;
  if (nb::hasattr(value.type(), "__script_type__")) {
    nb::object type = value.type().attr("__script_type__");
    named = Type::make(TypeKind::NamedTuple, {}, nb::cast<std::string>(type.attr("name")));
    named->host = host_of(type);
  }
  Value made = Tuple::make(std::move(items), std::move(named));
  if (Py_REFCNT(value.ptr()) > 1) seen_.emplace(value.ptr(), made);
  return made;
}

// ---- all kinds

Value ToNative::operator()(nb::handle value, int depth) {
  if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
  PyObject* p = value.ptr();
  if (p == Py_None) return Value();
  if (PyBool_Check(p)) return Value(p == Py_True);
  if (PyLong_Check(p)) return Value(int_of(value));
  if (PyFloat_Check(p)) return Value(PyFloat_AsDouble(p));
  if (is_a(value, known().tensor)) {
    if (adopted_.empty()) return tensor(value);
    if (const Value* seen = seen_.find(p)) return *seen;
    Tensor made = tensor(value);
    seen_.emplace(p, made);
    return made;
  }
  if (PyUnicode_Check(p)) return Value(nb::cast<std::string>(value));
  if (PyList_Check(p)) return list_of(value, depth);
  if (PyTuple_Check(p)) return tuple_of(value, depth);
  if (PyDict_Check(p)) return dict_of(value, depth);
  if (PyComplex_Check(p)) {
    return Value(std::complex<double>(PyComplex_RealAsDouble(p), PyComplex_ImagAsDouble(p)));
  }
  if (is_a(value, known().script_object)) return object(value, depth);
  if (is_a(value, known().device)) {
    return Value(parse_device(nb::cast<std::string>(nb::str(value))));
  }
  if (is_a(value, known().enum_value)) {
    return Enum::make(class_of(value.attr("type")), nb::cast<std::string>(value.attr("known_name")),
                      (*this)(value.attr("value"), depth + 1));
  }
  if (is_a(value, known().future)) {
    Ref<Future> future = Future::make();
    future->value = (*this)(value.attr("wait")(), depth + 1);
    return future;
  }
  if (nb::isinstance<NativeObject>(value)) {
    const NativeObject& there = nb::cast<NativeObject&>(value);
    Value found(there.object);
    add(DomainRef(there.domain));
    return found;
  }
  raise(ErrorKind::TypeError, "a value of type '",
        nb::cast<std::string>(value.type().attr("__name__")),
        "' cannot be handed to the native engine");
}

// ---- results

constexpr int64_t kLookEvery = 1 << 16;

// Takes values from what may be converted.
void ToPython::count(size_t values) {
  left_ -= int64_t(values);
  if (left_ < 0) {
    raise(ErrorKind::LimitError, "a result has over ", most_,
          " values, and its limits allow no "
          "more; for a program you trust, load it with limits=Limits(result_values=...)");
  }
  since_look_ += int64_t(values);
  if (since_look_ < kLookEvery) return;
  since_look_ = 0;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

const nb::object* ToPython::seen(const Value& value) const { return seen_.find(value.bits()); }

void ToPython::remember(const Value& value, const nb::object& made) {
  seen_.emplace(value.bits(), made);
}

nb::object ToPython::list_of(const Value& v, int depth) {
  if (const nb::object* known = seen(v)) return *known;
  const List& values = v.as_list();
  count(values.size());
  nb::object list = nb::steal(PyList_New(0));
  if (!list.is_valid()) throw nb::python_error();
  if (!values.is_alone()) remember(v, list);  // before its items: it may hold itself
  for (const Value& item : values) {
    if (PyList_Append(list.ptr(), (*this)(item, depth + 1).ptr()) != 0) throw nb::python_error();
  }
  return list;
}

nb::object ToPython::tuple_of(const Value& v, int depth) {
  if (const nb::object* known = seen(v)) return *known;
  const Tuple& values = v.as_tuple();
  count(values.items.size());
  nb::object made = nb::steal(PyTuple_New(Py_ssize_t(values.items.size())));
  if (!made.is_valid()) throw nb::python_error();
  Py_ssize_t at = 0;
  for (const Value& item : values.items) {
    PyTuple_SET_ITEM(made.ptr(), at++, (*this)(item, depth + 1).release().ptr());
  }
  if (values.named && values.named->host) {
    made = python_type(values.named->host, values.named->name).attr("make")(made);
  }
  if (!values.is_alone()) remember(v, made);
  return made;
}

nb::object ToPython::dict_of(const Value& v, int depth) {
  wants_wrapping_ = true;
  if (const nb::object* known = seen(v)) return *known;
  count(v.as_dict().size());
  nb::dict dict;
  if (!v.as_dict().is_alone()) remember(v, dict);
  const Dict::Entry* entry;
  for (size_t cursor = 0; v.as_dict().next(&cursor, &entry);) {
    dict[(*this)(entry->key, depth + 1)] = (*this)(entry->value, depth + 1);
  }
  return std::move(dict);
}

nb::object ToPython::future_of(const Value& v, int depth) {
  const Future& future = v.as_future();
  if (future.function) {
    raise(ErrorKind::RuntimeError,
          "an awaitable that was never waited for cannot be handed to "
          "Python");
  }
  if (!future.error) return known().future((*this)(future.value, depth + 1));
  const Error& e = *future.error;
  nb::object translate =
      nb::module_::import_("scriptlang.interpreter.native_engine").attr("translate");
  return known().future(nb::none(), translate(error_kind_name(e.kind), e.class_name, e.message));
}

nb::object ToPython::operator()(const Value& v, int depth) {
  if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
  switch (v.tag()) {
    case Tag::None: return nb::none();
    case Tag::Bool: return nb::bool_(v.as_bool());
    case Tag::Int: return nb::int_(v.as_int());
    case Tag::Double: return nb::float_(v.as_double());
    case Tag::Complex: {
      std::complex<double> c = v.as_complex();
      return nb::steal(PyComplex_FromDoubles(c.real(), c.imag()));
    }
    case Tag::Text:
    case Tag::String: {
      std::string_view text = v.as_string();
      return nb::steal(PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace"));
    }
    case Tag::Device: wants_wrapping_ = true; return known().device(to_string(v.as_device()));
    case Tag::Tensor: {
      if (const nb::object* known = seen(v)) return *known;
      nb::object made = keeps_ ? same_tensor(v.as_tensor(), {}) : tensor_of(v.as_tensor());
      bool is_shared = v.as_tensor().impl()->refs.load(std::memory_order_relaxed) > 1;
      if (depth && is_shared) remember(v, made);
      return made;
    }
    case Tag::List: return list_of(v, depth);
    case Tag::Tuple: return tuple_of(v, depth);
    case Tag::Dict: return dict_of(v, depth);
    case Tag::Object:
      wants_wrapping_ = true;
      return instance_of(Ref<Object>::share(&v.as_object()));
    case Tag::Enum: {
      wants_wrapping_ = true;
      const Enum& e = v.as_enum();
      nb::object type = python_type(e.type->host, e.type->name);
      return known().enum_value(type, e.name, (*this)(e.value, depth + 1));
    }
    case Tag::Future: wants_wrapping_ = true; return future_of(v, depth);
    default: raise(ErrorKind::TypeError, "a ", tag_name(v.tag()), " cannot be handed to Python");
  }
}

void clear_conversions() {
  delete names;
  names = nullptr;
}

}  // namespace scriptlang::python
