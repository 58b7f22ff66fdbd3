// Python values to engine values and back. The GIL is held in every function here.
//
// Tensors share memory both ways. Lists, dicts and tuples are copied. Instances of script classes
// keep their identity: from the first time that one is handed over, its slots lie in the engine,
// and `slots` of the Python object is a native Object that reads and writes them.
#pragma once

#include <nanobind/nanobind.h>

#include <unordered_map>

#include "program/program.h"

namespace scriptlang::python {

namespace nb = nanobind;

// What Python sees as the slots of an instance.
struct NativeObject {
  Ref<Object> object;
};

// Whether a value is a Tensor; an array whose class is numpy's own; a ScriptObject of that class.
bool is_tensor(nb::handle value);
bool is_plain_array(nb::handle value);
bool is_object_of(nb::handle value, nb::handle cls);

// Converts one call's arguments or one program's constants: containers and objects that occur
// twice stay one.
class ToNative {
 public:
  Value operator()(nb::handle value, int depth = 0);

  Tensor tensor(nb::handle value);                  // of a Tensor
  Value object(nb::handle value, int depth = 0);    // of a ScriptObject

  // A Tensor over the memory of an array; None for one that is not dense, writable and of a type
  // that tensors have in this machine's byte order.
  Value array(nb::handle value);

  // From now on, remembers the Tensors that it converts.
  void watch() { watching_ = true; }

  // Gives those Tensors the shapes and memory that the program has given theirs (squeeze_,
  // resize_), and what quantizes them (copy_).
  void tell_shapes() const;

 private:
  Value list_of(nb::handle value, int depth);
  Value dict_of(nb::handle value, int depth);
  Value tuple_of(nb::handle value, int depth);
  std::unordered_map<PyObject*, Value> seen_;
  bool watching_ = false;
  std::vector<std::pair<nb::object, Value>> watched_;
};

// Converts one result: storages that occur twice become one Python Storage.
class ToPython {
 public:
  nb::object operator()(const Value& value, int depth = 0);

  // Lets a Tensor that is there be a view of the same memory with the same shape.
  void set_tensor(PyObject* to, const Tensor& tensor);

 private:
  nb::object tensor_of(const Tensor& tensor);
  nb::object quantizer_of(const Quantizer& quantizer);
  nb::object storage_of(Storage* storage);
  std::pair<Storage*, nb::object> first_;  // most results have one
  std::unordered_map<Storage*, nb::object> storages_;  // the others
};

// The engine's class of a Python ClassType or EnumType; one per Python object.
ClassRef class_of(nb::handle type);

// What a type's `host` holds: a weak reference to its Python type.
std::shared_ptr<void> host_of(nb::handle type);

// The instance whose slots these are; made when it is not there yet.
nb::object instance_of(const Ref<Object>& object);

// Forgets the Python classes it has looked up; for the end of the module.
void clear_conversions();

}  // namespace scriptlang::python
