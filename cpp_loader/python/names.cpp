// Looks up the classes, functions and attributes of the Python package that conversions need.
#include "names.h"

#include "turns.h"

namespace scriptlang::python {

std::atomic<Names*> names{nullptr};

__attribute__((noinline, cold)) Names& look_up() {
  Registry lock;  // other threads may run during imports, and come here
  if (Names* there = names) return *there;
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
                          dtypes.attr("DType"),
                          quantized.attr("QuantizedTensor"),
                          quantized.attr("Quantizer"),
                          quantized.attr("ChannelQuantizer"),
                          nb::module_::import_("scriptlang.types").attr("custom_class"),
                          weakref.attr("ref"),
                          weakref.attr("WeakValueDictionary")(),
                          weakref.attr("WeakValueDictionary")(),
                          weakref.attr("WeakValueDictionary")(),
                          nb::module_::import_("scriptlang.ops.calling.current").attr("shown"),
                          weakref.attr("WeakKeyDictionary")()};
  names.store(made, std::memory_order_release);
  return *made;
}

nb::object dtype_of(ScalarType type) {
  std::atomic<PyObject*>& dtype = known().dtypes[uint8_t(type)];
  if (PyObject* there = dtype.load(std::memory_order_acquire)) return nb::borrow(there);
  nb::object found = known().by_code(int64_t(type));
  PyObject* none = nullptr;
  if (dtype.compare_exchange_strong(none, found.ptr())) found.inc_ref();
  return found;
}

constexpr size_t kMostCodes = 64;  // codes for which the table of known dtypes is searched

ScalarType dtype_from_python(nb::handle dtype) {
  for (size_t code = 0; code < kMostCodes; ++code) {
    if (known().dtypes[code].load(std::memory_order_acquire) == dtype.ptr())
      return ScalarType(code);
  }
  return ScalarType(int_of(get(dtype, known().a_code)));
}

void forget_names() { delete names.exchange(nullptr); }

}  // namespace scriptlang::python
