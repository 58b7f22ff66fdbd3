// A fused group: a function of pointwise operators and reductions that is run by few fused programs
// instead of operator by operator.
//
// FUSED names the function. On the first call with arguments of a kind (types, sizes, strides,
// numbers) the operators are recorded on symbolic tensors and become programs (fused_plan.h), which
// are kept. If that is not possible, the function is called as CALL does it: operator by operator,
// with the same results and the same errors.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "ops/op.h"

namespace scriptlang {

struct Function;
struct FusedPlan;

struct OperatorUse;

// Whether a group may hold the operator.
bool is_fusible(const OperatorUse& use);

class FusedGroup {
 public:
  // Null if the function does something else. It must be verified, and outlive the group.
  static std::unique_ptr<FusedGroup> make(const Function& function);
  ~FusedGroup();

  // Replaces the arguments by the results. If the function has to be called instead, returns false
  // and changes nothing. Any number of threads may call it.
  bool run(Context& context, Value* args);

 private:
  explicit FusedGroup(const Function& function) : function_(function) {}
  const FusedPlan* find(const Value* args);
  std::unique_ptr<FusedPlan> make_plan(Context& context, const Value* args) const;
  const FusedPlan* add(std::unique_ptr<FusedPlan> fresh);

  const Function& function_;
  std::atomic<FusedPlan*> first_{nullptr};
  std::atomic<const FusedPlan*> latest_{nullptr};
  std::atomic<int> count_{0};
};

}  // namespace scriptlang
