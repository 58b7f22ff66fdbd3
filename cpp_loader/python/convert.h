// Converts Python values to engine values and back. Every function here requires the GIL.
//
// Tensors share memory in both directions. Lists, dicts and tuples are copied, each of them once
// even if it occurs several times, so a result cannot grow exponentially. Instances of script
// classes keep their identity: the first time that one is passed to a program, its slots move to
// the engine, and `slots` of the Python object becomes a NativeObject that reads and writes them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "program/program.h"
#include "turns.h"

namespace scriptlang::python {

namespace nb = nanobind;

// The slots of an instance, as Python sees them. The domain is that of all values that it can
// reach, so values that are stored in it join the domain. It is read and written with a turn in the
// domain.
struct NativeObject {
  Ref<Object> object;
  DomainRef domain;
  bool whole = true;  // false while a thread is filling the slots
  bool is_whole() const { return __atomic_load_n(&whole, __ATOMIC_ACQUIRE); }
  void set_whole() { __atomic_store_n(&whole, true, __ATOMIC_RELEASE); }
  // The Tensors that reads of the slots have returned last, so that later reads return the same
  // ones.
  struct Read {
    const void* value = nullptr;  // the TensorImpl in the slot at that time
    nb::object tensor;
  };
  mutable std::vector<Read> reads{};
  // Notes a read of a slot, if it has a value. Returns what was noted before.
  Read note(size_t slot, Read now) const;

  // Makes reads of a slot return the Tensor that was stored in it. Returns the one before, which
  // the caller releases.
  nb::object remember(size_t slot, nb::handle tensor) const;

  // The slots of which reads have returned this Tensor last.
  std::vector<size_t> slots_of(nb::handle tensor) const;

  // The value of a slot, for Python. The caller holds a turn in the domain, and `convert` belongs
  // to it.
  nb::object read(const Value& slot, class ToPython& convert) const;
};

// Gives the tensors that slots of objects show as this Tensor the memory, type and shape that it
// has got.
void follow(nb::handle tensor);

// Whether a Tensor requires a gradient or has autograd metadata, as views have.
bool may_need_gradient(nb::handle tensor);

// Whether a value is exactly a Tensor; a ScriptObject of that class.
bool is_tensor(nb::handle value);
bool is_object_of(nb::handle value, nb::handle cls);

class Mirrors;

// A map that is only allocated when something is put into it, which most calls do not do.
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

// Whether a tensor has the memory of the Tensor that it was made from. Read-only memory is copied.
bool shares_memory(const Tensor& made, nb::handle tensor);

// The Tensors that were passed to a call. Those that a program returns stay the same Tensors, as in
// PyTorch.
class Passed {
 public:
  // A Tensor in a container.
  void add(nb::handle tensor, const Tensor& t) {
    if (inner_.size() < kMost) inner_.emplace_back(nb::borrow(tensor), t);
  }
  // An argument. The caller keeps both until the result is converted.
  void add_argument(PyObject* tensor, const TensorImpl* value) {
    if (count_ < kFew) few_[count_++] = {tensor, value};
  }
  // An invalid handle if it is not one of them.
  nb::handle find(const Tensor& t) const {
    for (size_t k = 0; k < count_; ++k) {
      if (few_[k].second == t.impl()) return few_[k].first;
    }
    for (const auto& [tensor, value] : inner_) {
      if (value.impl() == t.impl()) return tensor;
    }
    return {};
  }
  // One that has this memory; an invalid handle if there is none.
  nb::handle with_storage(const Storage* storage) const {
    for (size_t k = 0; k < count_; ++k) {
      if (few_[k].second->storage == storage) return few_[k].first;
    }
    for (const auto& [tensor, value] : inner_) {
      if (value.storage() == storage) return tensor;
    }
    return {};
  }

 private:
  static constexpr size_t kFew = 8, kMost = 256;  // more are not looked for
  std::pair<PyObject*, const TensorImpl*> few_[kFew];
  size_t count_ = 0;
  std::vector<std::pair<nb::object, Tensor>> inner_;
};

// Converts the arguments of one call, or the constants of one program. A container or object that
// occurs several times is converted once, and so are tensors in objects (the weights of an LSTM are
// also in a list).
class ToNative {
 public:
  Value operator()(nb::handle value, int depth = 0);

  Tensor tensor(nb::handle value);                // converts a Tensor
  Value object(nb::handle value, int depth = 0);  // converts a ScriptObject

  // A tensor on the memory of a numpy array. It is None unless the array is contiguous and
  // writable, and has a type that tensors have, in this machine's byte order.
  Value array(nb::handle value);

  // The domain of all objects that it has converted; null if there was none.
  const DomainRef& domain() const { return domain_; }
  DomainRef take_domain() { return std::move(domain_); }  // the last call on this ToNative

  // Tells `passed` of the Tensors that it converts.
  void note(Passed* passed) { passed_ = passed; }

  // Lets the fast path of calls take Tensors of which gradients may be wanted.
  void take_any() { takes_any_ = true; }
  bool takes_any() const { return takes_any_; }

  // Starts remembering the Tensors that it converts.
  void watch() { watching_ = true; }

  // These Tensors, with the values to which they were converted.
  const std::vector<std::pair<nb::object, Value>>& watched() const { return watched_; }

  // Lists and dicts are those of these mirrors from now on.
  void use(Mirrors* mirrors) { mirrors_ = mirrors; }

  // Makes later reads of the engine return the Tensors that it converted and of which a gradient
  // may be wanted, as long as the engine has them. It is called after they were stored there.
  void keep_identity() const;

  // Copies changes that the program has made back to these Tensors: shape and memory (squeeze_,
  // resize_) and quantizer (copy_).
  void tell_shapes() const;

 private:
  template <class T>
  T own(nb::handle value);
  Value list_of(nb::handle value, int depth);
  Value dict_of(nb::handle value, int depth);
  Value tuple_of(nb::handle value, int depth);
  Value adopt(nb::handle value, int depth);
  void add(const DomainRef& domain);
  RareMap<PyObject*, Value> seen_;
  std::vector<nb::object> owned_;    // copies of lists and dicts, where Python has no GIL
  std::vector<nb::object> adopted_;  // old slots of objects; keeps alive what seen_ has by address
  DomainRef domain_;
  int adopting_ = 0;  // objects whose slots are being converted
  bool watching_ = false, takes_any_ = false;
  std::vector<std::pair<nb::object, Value>> watched_;
  std::vector<std::pair<nb::object, Value>> differentiable_;
  Mirrors* mirrors_ = nullptr;
  Passed* passed_ = nullptr;
};

// The default of scriptlang.Limits.result_values.
constexpr int64_t kMostValues = 10'000'000;

// Converts one result. A storage, tensor or container that occurs several times becomes one object,
// and a list may contain itself. The caller holds a turn in the domain from which the result comes,
// if there is one.
class ToPython {
 public:
  // most: the largest number of values, 0 for no limit; more raise LimitError. Signals of Python
  // end the conversion, too.
  explicit ToPython(int64_t most = kMostValues) : ToPython(most, own_domain_) {}
  // `domain` must outlive this. If it is null, it is set when an object is converted.
  ToPython(int64_t most, DomainRef& domain)
      : domain_(domain), left_(most ? most : INT64_MAX), most_(most) {}
  ToPython(const ToPython&) = delete;
  ToPython& operator=(const ToPython&) = delete;

  nb::object operator()(const Value& value, int depth = 0);

  // Whether the result contains values that have to be wrapped for users, such as instances and
  // members of enums.
  bool wants_wrapping() const { return wants_wrapping_; }

  // These Tensors stay the same. `passed` must outlive this.
  void know(const Passed* passed) { passed_ = passed; }

  // Makes all later occurrences of a value convert to this object.
  void remember(const Value& value, const nb::object& made);

  // Makes later conversions return Tensors and Storages that exist already, instead of new ones.
  void keep() { keeps_ = true; }

  // Lists and dicts become these mirrors from now on.
  void use(Mirrors* mirrors) { mirrors_ = mirrors; }
  // The elements of a list or dict in a new list or dict.
  nb::object elements(const Value& container, int depth);

  // The Python Tensor of a tensor. It is `known`, or one that was made before, if that still exists
  // and has the same memory and shape.
  nb::object same_tensor(const Tensor& tensor, nb::handle known);

  // Gives an existing Python Tensor the memory and shape of `tensor`.
  void set_tensor(PyObject* to, const Tensor& tensor);

 private:
  nb::object list_of(const Value& value, int depth);
  nb::object tuple_of(const Value& value, int depth);
  nb::object dict_of(const Value& value, int depth);
  nb::object future_of(const Value& value, int depth);
  void add_elements(const Value& container, const nb::object& made, int depth);
  const nb::object* seen(const Value& value) const;
  void count(size_t values);
  nb::object tensor_of(const Tensor& tensor);
  nb::object quantizer_of(const Quantizer& quantizer);
  nb::object storage_of(Storage* storage);
  nb::object instance_of(const Ref<Object>& object);
  DomainRef own_domain_;
  DomainRef& domain_;
  std::pair<Storage*, nb::object> first_;   // most results have one storage
  RareMap<Storage*, nb::object> storages_;  // other storages
  RareMap<uint64_t, nb::object> seen_;      // by bits; only values with several references
  int64_t left_, most_;
  int64_t since_look_ = 0;  // values since signals were checked
  bool wants_wrapping_ = false, keeps_ = false;
  Mirrors* mirrors_ = nullptr;
  const Passed* passed_ = nullptr;
};

// Waits if another thread is still filling an object's slots.
void wait_until_whole(const NativeObject& object);

// A slot of an object. The caller must hold a turn in the object's domain, since programs may add
// slots.
Value& slot_of(const NativeObject& object, int64_t index);
Value& slot_of(const NativeObject& object, const std::string& name);

// Sets a slot, with a turn, to a value that `convert`, which has converted nothing yet, makes.
template <class Key>
void set_slot(const NativeObject& object, const Key& key, nb::handle value, ToNative& convert) {
  Ref<Object> kept = object.object;
  DomainRef domain = object.domain;
  Value fresh = convert(value);
  if (convert.domain()) join_domains(domain, convert.domain());
  Turn turn;
  look(&turn, domain, true);
  Value& slot = slot_of(object, key);
  slot.swap(fresh);
  nb::object before = object.remember(size_t(&slot - object.object->slots.data()), value);
  turn.give();  // before the old values are destroyed, which may run Python code
  convert.keep_identity();
}

// The engine's class for a Python ClassType or EnumType, made once for each.
ClassRef class_of(nb::handle type);

// Connects a class of the engine with a Python ClassType or EnumType, which becomes its `host`.
void set_class_of(nb::handle type, const ClassRef& cls);

// The Python type of a class, or for a `host`. Raises TypeError if there is none.
nb::object type_of(const ClassType& cls);
nb::object python_type(const std::shared_ptr<void>& host, const std::string& name);

// The `host` for a Python type: a weak reference to it.
std::shared_ptr<void> host_of(nb::handle type);

}  // namespace scriptlang::python
