// Python values to engine values and back. The GIL is held in every function here.
//
// Tensors share memory both ways. Lists, dicts and tuples are copied, each once however often it
// occurs: what a program makes twice as large in one step stays small here. Instances of script
// classes keep their identity: from the first time that one is handed over, its slots lie in the
// engine, and `slots` of the Python object is a native Object that reads and writes them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "program/program.h"
#include "turns.h"

namespace scriptlang::python {

namespace nb = nanobind;

// What Python sees as the slots of an instance. Its domain is that of all that it can reach, so of
// whatever is put into it; it is looked at in turn.
struct NativeObject {
  Ref<Object> object;
  DomainRef domain;
  bool whole = true;  // no thread is still filling the slots
  // The Tensors that slots were last read as: who asks again gets the same ones.
  struct Read {
    const void* value = nullptr;  // of the slot, as it was then
    nb::object tensor;
  };
  mutable std::vector<Read> reads{};

  // Lets reads of a slot give the Tensor that it was filled with. Returns what they gave before.
  nb::object remember(size_t slot, nb::handle tensor) const;

  // What a slot holds, for Python. The caller has the turn in its domain, of which `convert` is.
  nb::object read(const Value& slot, class ToPython& convert) const;
};

// Whether a Tensor requires a gradient, or is a view of one that may.
bool may_need_gradient(nb::handle tensor);

// Whether a value is a Tensor; an array whose class is numpy's own; a ScriptObject of that class.
bool is_tensor(nb::handle value);
bool is_plain_array(nb::handle value);
bool is_object_of(nb::handle value, nb::handle cls);

// A map that most calls put nothing into, and that costs them nothing.
template <class Key, class T>
class RareMap {
 public:
  const T* find(const Key& key) const {
    if (!map_) return nullptr;
    auto found = map_->find(key);
    return found == map_->end() ? nullptr : &found->second;
  }
  void emplace(const Key& key, const T& value) {
    if (!map_) map_ = std::make_unique<std::unordered_map<Key, T>>();
    map_->emplace(key, value);
  }

 private:
  std::unique_ptr<std::unordered_map<Key, T>> map_;
};

// Converts one call's arguments or one program's constants: containers and objects that occur
// twice stay one, and so do tensors in objects (the weights of an LSTM are in a list, too).
class ToNative {
 public:
  Value operator()(nb::handle value, int depth = 0);

  Tensor tensor(nb::handle value);                // of a Tensor
  Value object(nb::handle value, int depth = 0);  // of a ScriptObject

  // A Tensor over the memory of an array; None for one that is not dense, writable and of a type
  // that tensors have in this machine's byte order.
  Value array(nb::handle value);

  // Of all objects among what it has converted: null where there is none.
  const DomainRef& domain() const { return domain_; }
  DomainRef take_domain() { return std::move(domain_); }  // it converts nothing more

  // From now on, remembers the Tensors that it converts.
  void watch() { watching_ = true; }

  // Those Tensors, and what they became.
  const std::vector<std::pair<nb::object, Value>>& watched() const { return watched_; }

  // Gives those Tensors the shapes and memory that the program has given theirs (squeeze_,
  // resize_), and what quantizes them (copy_).
  void tell_shapes() const;

 private:
  Value list_of(nb::handle value, int depth);
  Value dict_of(nb::handle value, int depth);
  Value tuple_of(nb::handle value, int depth);
  Value adopt(nb::handle value, int depth);
  void add(const DomainRef& domain);
  RareMap<PyObject*, Value> seen_;
  std::vector<nb::object> adopted_;  // slots of objects: what was seen in them stays alive
  DomainRef domain_;
  bool watching_ = false;
  std::vector<std::pair<nb::object, Value>> watched_;
};

// As scriptlang.Limits has it.
constexpr int64_t kMostValues = 10'000'000;

// Converts one result: what occurs twice (a storage, a tensor, a container) becomes one object, and
// a list that holds itself does there, too. The caller has the turn in the domain that the result
// comes from; null: from none.
class ToPython {
 public:
  // most: how many values are converted, 0 for any number; LimitError at one more. Interrupts of
  // Python end it, too.
  explicit ToPython(int64_t most = kMostValues) : ToPython(most, own_domain_) {}
  // `domain` lives as long as this; where it is null, it becomes what objects need.
  ToPython(int64_t most, DomainRef& domain)
      : domain_(domain), left_(most ? most : INT64_MAX), most_(most) {}
  ToPython(const ToPython&) = delete;
  ToPython& operator=(const ToPython&) = delete;

  nb::object operator()(const Value& value, int depth = 0);

  // Whether users see something else of what was converted: instances, members of Enums.
  bool wants_wrapping() const { return wants_wrapping_; }

  // From now on a value is this object, wherever it occurs.
  void remember(const Value& value, const nb::object& made);

  // From now on, what somebody has already of tensors and their memory is not made again.
  void keep() { keeps_ = true; }
  // The Tensor of a value, as it was made before if that is still right and somebody has it.
  nb::object same_tensor(const Tensor& tensor, nb::handle known);

  // Lets a Tensor that is there be a view of the same memory with the same shape.
  void set_tensor(PyObject* to, const Tensor& tensor);

 private:
  nb::object list_of(const Value& value, int depth);
  nb::object tuple_of(const Value& value, int depth);
  nb::object dict_of(const Value& value, int depth);
  nb::object future_of(const Value& value, int depth);
  const nb::object* seen(const Value& value) const;
  void count(size_t values);
  nb::object tensor_of(const Tensor& tensor);
  nb::object quantizer_of(const Quantizer& quantizer);
  nb::object storage_of(Storage* storage);
  nb::object instance_of(const Ref<Object>& object);
  DomainRef own_domain_;
  DomainRef& domain_;
  std::pair<Storage*, nb::object> first_;   // most results have one
  RareMap<Storage*, nb::object> storages_;  // the others
  RareMap<uint64_t, nb::object> seen_;      // by bits; not what only one thing holds
  int64_t left_, most_;
  int64_t since_look_ = 0;  // values since Python's interrupts were looked at
  bool wants_wrapping_ = false, keeps_ = false;
};

// The engine's class of a Python ClassType or EnumType; one per Python object.
ClassRef class_of(nb::handle type);

// Lets a Python ClassType or EnumType be the host of a class of the engine.
void set_class_of(nb::handle type, const ClassRef& cls);

// The Python type of a class, or of what has such a host. Raises TypeError where there is none.
nb::object type_of(const ClassType& cls);
nb::object python_type(const std::shared_ptr<void>& host, const std::string& name);

// What a type's `host` holds: a weak reference to its Python type.
std::shared_ptr<void> host_of(nb::handle type);

}  // namespace scriptlang::python
