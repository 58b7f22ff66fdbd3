// Reads the pickles of PyTorch's archives, without executing anything.
//
// It understands the opcodes of protocol 2 that PyTorch writes, and a handful of globals; an error
// names anything else. The memory that it takes is proportional to the input. The globals are
// storage types, torch._utils._rebuild_tensor_v2, _rebuild_qtensor with its schemes and
// _rebuild_parameter, collections.OrderedDict, torch.device, torch.Size, complex,
// torch.jit._pickle.build_*list and restore_type_tag, and classes under __torch__ (instances, and
// enum members). An instance of a class of PyTorch's C++ library keeps its state in its one slot.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "values/type.h"

namespace scriptlang {

// What the reader of a pickle needs from its caller. A hook may be empty.
struct PickleHooks {
  // Returns the class of a name under __torch__. If empty, such names are refused.
  ClassResolver classes;
  // Returns whether the class has a __setstate__. If empty, it is assumed if the state is no dict.
  std::function<bool(const ClassType& cls)> restores;
  // Returns the storage of a persistent id's key, with a reference for the caller. If empty,
  // tensors are refused.
  std::function<Storage*(const std::string& key, ScalarType dtype)> storage;
  // Takes an object whose class has a __setstate__, and its state. If empty, they are refused.
  std::function<void(Value object, Value state)> pending;
};

// Returns the value of a pickle. `what` names the record in errors. Raises ArchiveError with the
// byte position.
Value read_pickle(std::string_view bytes, const std::string& what, const PickleHooks& hooks);

}  // namespace scriptlang
