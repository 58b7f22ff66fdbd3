// The pickles of torch archives, read without executing anything.
//
// Understands the opcodes of protocol 2 that PyTorch writes and the handful of globals below;
// anything else is refused by name. Memory is proportional to the input. Globals: storage types,
// torch._utils._rebuild_tensor_v2, _rebuild_qtensor with its schemes and _rebuild_parameter,
// collections.OrderedDict, torch.device, torch.Size, complex, torch.jit._pickle.build_*list and
// restore_type_tag, and classes under __torch__ (instances, and enum members). An instance of a
// class of PyTorch's C++ library keeps its state in its one slot.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "values/type.h"

namespace scriptlang {

struct PickleHooks {
  // Class of a name under __torch__. Empty: such names are refused.
  ClassResolver classes;
  // Whether an object of the class restores itself from any state. Empty: where it is no dict.
  std::function<bool(const ClassType& cls)> restores;
  // The storage of a persistent id's key, retained for the caller. Empty: refused.
  std::function<Storage*(const std::string& key, ScalarType dtype)> storage;
  // Takes (object, state) of classes that restore themselves by __setstate__. Empty: refused.
  std::function<void(Value object, Value state)> pending;
};

// `what` names the record in errors. Raises ArchiveError with the byte position.
Value read_pickle(std::string_view bytes, const std::string& what, const PickleHooks& hooks);

}  // namespace scriptlang
