#include "convert.h"

#include <nanobind/stl/string.h>

#include "values/quantizer.h"
#include "values/type.h"

namespace scriptlang::python {

namespace {

nb::object interned(const char* text) {
  return nb::steal(PyUnicode_InternFromString(text));
}

// What is looked up in the Python package, once.
struct Names {
  nb::object tensor, storage, script_object, device, enum_value, future, by_code;
  nb::object quantized_tensor, quantizer, channel_quantizer, custom_class;
  nb::object weak_reference;
  nb::object instances;  // WeakValueDictionary: address of an Object -> ScriptObject
  nb::object classes;    // WeakKeyDictionary: class type -> capsule of its ClassRef
  nb::object array;      // numpy.ndarray
  std::vector<nb::object> dtypes;  // by code, those that were met

  // Attributes of Tensor, Storage and ScriptObject.
  nb::object a_storage = interned("storage"), a_data = interned("data"),
             a_made_data = interned("_data"),
             a_owner = interned("owner"), a_dtype = interned("dtype"), a_code = interned("code"),
             a_size = interned("_size"), a_stride = interned("_stride"),
             a_offset = interned("_offset"), a_grad = interned("requires_grad"),
             a_view = interned("_view"), a_trace = interned("trace_value"),
             a_type = interned("type"), a_slots = interned("slots"),
             a_quantizer = interned("quantizer"), a_scale = interned("scale"),
             a_zero_point = interned("zero_point"), a_scales = interned("scales"),
             a_zero_points = interned("zero_points"), a_axis = interned("axis");
};
Names* names = nullptr;

Names& known() {
  if (names) return *names;
  nb::module_ tensor = nb::module_::import_("scriptlang.tensors");
  nb::module_ objects = nb::module_::import_("scriptlang.objects");
  nb::module_ dtypes = nb::module_::import_("scriptlang.dtypes");
  nb::module_ quantized = nb::module_::import_("scriptlang.ops.quantized_tensors");
  nb::module_ weakref = nb::module_::import_("weakref");
  names = new Names{tensor.attr("Tensor"),   tensor.attr("Storage"),  objects.attr("ScriptObject"),
                    objects.attr("Device"),  objects.attr("EnumValue"), objects.attr("Future"),
                    dtypes.attr("by_code"),      quantized.attr("QuantizedTensor"),
                    quantized.attr("Quantizer"), quantized.attr("ChannelQuantizer"),
                    nb::module_::import_("scriptlang.types").attr("custom_class"),
                    weakref.attr("ref"), weakref.attr("WeakValueDictionary")(),
                    weakref.attr("WeakKeyDictionary")(),
                    nb::module_::import_("numpy").attr("ndarray"), {}};
  return *names;
}

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
  std::vector<nb::object>& met = known().dtypes;
  if (met.size() <= size_t(type)) met.resize(size_t(type) + 1);
  nb::object& dtype = met[size_t(type)];
  if (!dtype.is_valid()) dtype = known().by_code(int64_t(type));
  return dtype;
}

int64_t int_of(nb::handle value) {
  long long number = PyLong_AsLongLong(value.ptr());
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

std::vector<int64_t> ints_of(nb::handle tuple) {
  std::vector<int64_t> values;
  Py_ssize_t n = PyTuple_Size(tuple.ptr());
  if (n < 0) throw nb::python_error();
  for (Py_ssize_t k = 0; k < n; ++k) values.push_back(int_of(PyTuple_GET_ITEM(tuple.ptr(), k)));
  return values;
}

nb::object tuple_from(IntSpan values) {
  PyObject* tuple = PyTuple_New(values.size);
  if (!tuple) throw nb::python_error();
  for (int64_t k = 0; k < values.size; ++k) {
    PyTuple_SET_ITEM(tuple, k, PyLong_FromLongLong(values[k]));
  }
  return nb::steal(tuple);
}

// ---- tensors

// What an engine Storage borrows from: the buffer, and the Python Storage of the same memory, if
// one is there yet.
struct Loan {
  Py_buffer view;
  PyObject* storage = nullptr;
};

void end_loan(void* user) {
  Loan* loan = static_cast<Loan*>(user);
  if (!Py_IsInitialized()) return;  // the process ends: its memory goes anyway
  nb::gil_scoped_acquire gil;
  PyBuffer_Release(&loan->view);
  Py_XDECREF(loan->storage);
  delete loan;
}

// Memory that Python may not write is copied: an operator that works in place would crash.
Storage* lend(Loan* loan) {
  if (!loan->view.readonly) {
    return Storage::borrow(loan->view.buf, loan->view.len, end_loan, loan);
  }
  Storage* copy = Storage::allocate(loan->view.len);
  if (loan->view.len) std::memcpy(copy->data(), loan->view.buf, size_t(loan->view.len));
  end_loan(loan);
  return copy;
}

struct Release {
  Storage* storage;
  ~Release() { storage->release(); }
};

// One reference to the engine's Storage of a Python one: its own where it has made the memory.
Storage* storage_from_python(const nb::object& storage) {
  nb::object owner = get(storage, known().a_owner);
  if (nb::isinstance<Memory>(owner)) {
    Storage* own = nb::cast<Memory&>(owner).storage;
    own->retain();
    return own;
  }
  nb::object data = get(storage, known().a_made_data);
  if (data.is_none()) data = get(storage, known().a_data);
  auto loan = std::make_unique<Loan>();
  if (PyObject_GetBuffer(data.ptr(), &loan->view, PyBUF_SIMPLE) != 0) {
    throw nb::python_error();
  }
  loan->storage = nb::object(storage).release().ptr();
  return lend(loan.release());
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
    case 'q': return size == 8   ? ScalarType::Int64
                     : size == 4 ? ScalarType::Int32
                                 : ScalarType::Undefined;
    case 'e': return ScalarType::Float16;
    case 'f': return ScalarType::Float32;
    case 'd': return ScalarType::Float64;
    case 'Z': return format[1] == 'f'   ? ScalarType::Complex64
                     : format[1] == 'd' ? ScalarType::Complex128
                                        : ScalarType::Undefined;
    default: return ScalarType::Undefined;
  }
}

int memory_buffer(PyObject* self, Py_buffer* view, int flags) {
  Storage* storage = nb::inst_ptr<Memory>(self)->storage;
  storage->pin();
  static char empty;
  void* data = storage->nbytes() ? storage->data() : &empty;
  return PyBuffer_FillInfo(view, self, data, Py_ssize_t(storage->nbytes()),
                           storage->read_only(), flags);
}

}  // namespace

PyType_Slot memory_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(&memory_buffer)},
    {0, nullptr},
};

bool is_tensor(nb::handle value) { return value.type().is(known().tensor); }

bool is_plain_array(nb::handle value) { return value.type().is(known().array); }

bool is_object_of(nb::handle value, nb::handle cls) {
  return value.type().is(known().script_object) && get(value, known().a_type).is(cls);
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

static Tensor tensor_from_python(nb::handle value) {
  Names& n = known();
  Release storage{storage_from_python(get(value, n.a_storage))};
  nb::object type = get(value, n.a_dtype);
  ScalarType dtype = ScalarType(int_of(get(type, n.a_code)));
  if (itemsize(dtype) == 0 || is_quantized(dtype) != is_a(value, n.quantized_tensor)) {
    raise(ErrorKind::MissingOperator, "the native engine has no tensors of ",
          nb::cast<std::string>(nb::str(type.attr("name"))),
          "; load or script with engine=\"python\"");
  }
  Tensor t = Tensor::checked_view(storage.storage, dtype, ints_of(get(value, n.a_size)),
                                  ints_of(get(value, n.a_stride)),
                                  int_of(get(value, n.a_offset)));
  t.impl()->requires_grad = PyObject_IsTrue(get(value, n.a_grad).ptr()) == 1;
  if (is_quantized(dtype)) t.impl()->quantizer = quantizer_from_python(value);
  return t;
}

Value ToNative::array(nb::handle value) {
  auto loan = std::make_unique<Loan>();
  int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE;
  if (PyObject_GetBuffer(value.ptr(), &loan->view, flags) != 0) {
    PyErr_Clear();
    return Value();
  }
  const Py_buffer& view = loan->view;
  ScalarType dtype = type_of_format(view.format, view.itemsize);
  if (dtype == ScalarType::Undefined || view.ndim > kMaxDims) {
    PyBuffer_Release(&loan->view);
    return Value();
  }
  std::vector<int64_t> sizes(view.shape, view.shape + view.ndim), strides(sizes.size());
  int64_t step = 1;
  for (size_t k = sizes.size(); k-- > 0;) {
    strides[k] = step;
    step *= std::max<int64_t>(sizes[k], 1);
  }
  Release storage{lend(loan.release())};
  return Tensor::checked_view(storage.storage, dtype, sizes, strides, 0);
}

nb::object ToPython::storage_of(Storage* storage) {
  auto seen = storages_.find(storage);
  if (seen != storages_.end()) return seen->second;
  nb::object made;
  if (Loan* loan = static_cast<Loan*>(storage->lender(end_loan))) {
    if (!loan->storage) {
      loan->storage = known().storage(nb::none(), nb::handle(loan->view.obj)).release().ptr();
    }
    made = nb::borrow(loan->storage);
  } else {
    nb::object memory = nb::inst_alloc(nb::type<Memory>());
    new (nb::inst_ptr<Memory>(memory)) Memory(storage);
    nb::inst_mark_ready(memory);
    made = known().storage(nb::none(), memory);
  }
  storages_.emplace(storage, made);
  return made;
}

nb::object ToPython::tensor_of(const Tensor& t) {
  Names& n = known();
  const nb::object& cls = t.quantizer() ? n.quantized_tensor : n.tensor;
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  nb::object made = nb::steal(type->tp_alloc(type, 0));
  if (!made.is_valid()) throw nb::python_error();
  set_tensor(made.ptr(), t);
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
  set(p, n.a_storage, storage_of(t.storage()));
  set(p, n.a_dtype, dtype_of(t.dtype()));
  set(p, n.a_size, tuple_from(t.sizes()));
  set(p, n.a_stride, tuple_from(t.strides()));
  set(p, n.a_offset, nb::steal(PyLong_FromLongLong(t.storage_offset())));
  set(p, n.a_grad, nb::bool_(t.requires_grad()));
  set(p, n.a_view, nb::none());
  set(p, n.a_trace, nb::none());
}

// Whether a QuantizedTensor is quantized per tensor, with the parameters of `t`.
static bool is_quantized_as(nb::handle object, const Tensor& t) {
  Ref<Quantizer> q(quantizer_from_python(object));
  return q->is_per_tensor() && t.quantizer() && t.quantizer()->is_per_tensor() &&
         q->scale == t.quantizer()->scale && q->zero_point == t.quantizer()->zero_point;
}

void ToNative::tell_shapes() const {
  ToPython convert;
  for (const auto& [object, value] : watched_) {
    const Tensor& t = value.as_tensor();
    std::vector<int64_t> sizes = ints_of(get(object, known().a_size)),
                         strides = ints_of(get(object, known().a_stride));
    bool same = t.sizes() == IntSpan(sizes) && t.strides() == IntSpan(strides) &&
                int_of(get(object, known().a_offset)) == t.storage_offset() &&
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

ClassRef class_of(nb::handle type) {
  nb::object held = known().classes.attr("get")(type);
  if (!held.is_none()) return *static_cast<ClassRef*>(nb::cast<nb::capsule>(held).data());
  ClassRef cls = ClassType::make(nb::cast<std::string>(nb::str(type.attr("name"))));
  if (nb::hasattr(type, "attributes")) {
    for (nb::handle attribute : type.attr("attributes")) {
      cls->attributes.push_back(nb::cast<std::string>(nb::str(attribute.attr("name"))));
    }
  }
  cls->host = host_of(type);
  known().classes[type] = nb::capsule(new ClassRef(cls), [](void* p) noexcept {
    delete static_cast<ClassRef*>(p);
  });
  return cls;
}

nb::object instance_of(const Ref<Object>& object) {
  nb::object key = nb::steal(PyLong_FromVoidPtr(object.get()));
  nb::object found = known().instances.attr("get")(key);
  if (!found.is_none()) return found;
  nb::object type = python_type(object->type->host, object->type->name);
  nb::object made = known().script_object(type, nb::cast(NativeObject{object}));
  known().instances[key] = made;
  return made;
}

Value ToNative::object_of(nb::handle value, int depth) {
  nb::object slots = get(value, known().a_slots);
  if (nb::isinstance<NativeObject>(slots)) return nb::cast<NativeObject&>(slots).object;
  ClassRef cls = class_of(get(value, known().a_type));
  Ref<Object> made = Object::make(cls);
  nb::list old = nb::cast<nb::list>(slots);
  made->slots.resize(old.size());
  // In place first: an object may hold itself.
  value.attr("slots") = nb::cast(NativeObject{made});
  known().instances[nb::steal(PyLong_FromVoidPtr(made.get()))] = value;
  try {
    for (size_t k = 0; k < old.size(); ++k) made->slots[k] = (*this)(old[k], depth + 1);
  } catch (...) {
    value.attr("slots") = old;
    throw;
  }
  return made;
}

// ---- containers

Value ToNative::list_of(nb::handle value, int depth) {
  auto seen = seen_.find(value.ptr());
  if (seen != seen_.end()) return seen->second;
  Ref<List> list = List::make();
  seen_.emplace(value.ptr(), list);
  for (nb::handle item : nb::borrow<nb::list>(value)) {
    list->push((*this)(item, depth + 1));
  }
  return list;
}

Value ToNative::dict_of(nb::handle value, int depth) {
  auto seen = seen_.find(value.ptr());
  if (seen != seen_.end()) return seen->second;
  Ref<Dict> dict = Dict::make();
  seen_.emplace(value.ptr(), dict);
  for (auto [k, v] : nb::borrow<nb::dict>(value)) {
    dict->set((*this)(k, depth + 1), (*this)(v, depth + 1));
  }
  return dict;
}

Value ToNative::tuple_of(nb::handle value, int depth) {
  std::vector<Value> items;
  for (nb::handle item : nb::borrow<nb::tuple>(value)) items.push_back((*this)(item, depth + 1));
  TypeRef named;
  if (nb::hasattr(value.type(), "__script_type__")) {
    nb::object type = value.type().attr("__script_type__");
    named = Type::make(TypeKind::NamedTuple, {}, nb::cast<std::string>(type.attr("name")));
    named->host = host_of(type);
  }
  return Tuple::make(std::move(items), std::move(named));
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
    Value tensor = tensor_from_python(value);
    if (watching_) watched_.emplace_back(nb::borrow(value), tensor);
    return tensor;
  }
  if (PyUnicode_Check(p)) return Value(nb::cast<std::string>(value));
  if (PyList_Check(p)) return list_of(value, depth);
  if (PyTuple_Check(p)) return tuple_of(value, depth);
  if (PyDict_Check(p)) return dict_of(value, depth);
  if (PyComplex_Check(p)) {
    return Value(std::complex<double>(PyComplex_RealAsDouble(p), PyComplex_ImagAsDouble(p)));
  }
  if (is_a(value, known().script_object)) return object_of(value, depth);
  if (is_a(value, known().device)) {
    return Value(parse_device(nb::cast<std::string>(nb::str(value))));
  }
  if (is_a(value, known().enum_value)) {
    return Enum::make(class_of(value.attr("type")), nb::cast<std::string>(value.attr("name")),
                      (*this)(value.attr("value"), depth + 1));
  }
  if (is_a(value, known().future)) {
    Ref<Future> future = Future::make();
    future->value = (*this)(value.attr("wait")(), depth + 1);
    return future;
  }
  if (nb::isinstance<NativeObject>(value)) return nb::cast<NativeObject&>(value).object;
  raise(ErrorKind::TypeError, "a value of type '",
        nb::cast<std::string>(value.type().attr("__name__")),
        "' cannot be handed to the native engine");
}

nb::object ToPython::operator()(const Value& v, int depth) {
  if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
  auto items = [&](const auto& values) {
    nb::list list;
    for (const Value& item : values) list.append((*this)(item, depth + 1));
    return list;
  };
  switch (v.tag()) {
    case Tag::None: return nb::none();
    case Tag::Bool: return nb::bool_(v.as_bool());
    case Tag::Int: return nb::int_(v.as_int());
    case Tag::Double: return nb::float_(v.as_double());
    case Tag::Complex: {
      std::complex<double> c = v.as_complex();
      return nb::steal(PyComplex_FromDoubles(c.real(), c.imag()));
    }
    case Tag::String: {
      const std::string& text = v.as_string();
      return nb::steal(PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace"));
    }
    case Tag::Device: return known().device(to_string(v.as_device()));
    case Tag::Tensor: return tensor_of(v.as_tensor());
    case Tag::List: return items(v.as_list());
    case Tag::Tuple: {
      nb::tuple tuple(items(v.as_tuple().items));
      const TypeRef& named = v.as_tuple().named;
      if (!named || !named->host) return tuple;
      return python_type(named->host, named->name).attr("make")(tuple);
    }
    case Tag::Dict: {
      nb::dict dict;
      const Dict::Entry* entry;
      for (size_t cursor = 0; v.as_dict().next(&cursor, &entry);) {
        dict[(*this)(entry->key, depth + 1)] = (*this)(entry->value, depth + 1);
      }
      return dict;
    }
    case Tag::Object: return instance_of(Ref<Object>::share(&v.as_object()));
    case Tag::Enum: {
      const Enum& e = v.as_enum();
      nb::object type = python_type(e.type->host, e.type->name);
      return known().enum_value(type, e.name, (*this)(e.value, depth + 1));
    }
    case Tag::Future: {
      const Future& future = v.as_future();
      if (future.function) {
        raise(ErrorKind::RuntimeError, "an awaitable that was never waited for cannot be handed "
              "to Python");
      }
      if (!future.error) return known().future((*this)(future.value, depth + 1));
      const Error& e = *future.error;
      nb::object translate = nb::module_::import_("scriptlang.interpreter.native_engine")
                                 .attr("translate");
      return known().future(nb::none(), translate(error_kind_name(e.kind), e.class_name, e.message));
    }
    default:
      raise(ErrorKind::TypeError, "a ", tag_name(v.tag()), " cannot be handed to Python");
  }
}

void clear_conversions() {
  delete names;
  names = nullptr;
}

}  // namespace scriptlang::python
