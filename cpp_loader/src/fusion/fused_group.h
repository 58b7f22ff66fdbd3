// A fused group: a function of pointwise operators and reductions that runs as a few fused programs
// instead of operator by operator.
//
// The instruction FUSED names the function. At the first call with arguments of a kind (types,
// sizes, strides, numbers), the operators are recorded on symbolic tensors and compiled to a plan
// of programs (fused_plan.h), which is cached. If that is not possible, the function is called as
// CALL does it: operator by operator, with the same results and errors.
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

// Whether a group may contain the operator.
bool is_fusible(const OperatorUse& use);

class FusedGroup {
 public:
  // Returns null if the function does anything else than call fusible operators. The function must
  // be verified and must outlive the group.
  static std::unique_ptr<FusedGroup> make(const Function& function);
  ~FusedGroup();

  // Replaces the arguments by the results. Returns false if the function has to be called instead;
  // the arguments are then unchanged. Several threads may call it at the same time.
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
