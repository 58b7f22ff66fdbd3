// The node of a recorded operator: what it saved, and how its rule computes the gradients.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recorded_operator.h"
#include "saved.h"

namespace scriptlang::autograd {

class OperatorNode final : public Node {
 public:
  OperatorNode(const Operator& op, Args args);
  std::string name() const override;

  // Must be called after the operator has run.
  void save_results(const Value* out);
  std::vector<Tensor> backward(Context& ctx, std::vector<Tensor>& grads,
                               const std::vector<char>& wanted, const Task& task) override;
  bool release() override;

 private:
  static bool asks_layout(const Rule::Part& part, const std::string& name);
  // Whether the rule reads only the layout of result k, not its elements.
  bool wants_layout(size_t k) const;
  void save_argument(Args args, int k, bool is_layout);

  // The argument as it is before the operator runs: an argument that the operator overwrites is
  // copied.
  Value original(Args args, int k) const;
  int argument(std::string_view name) const;
  // Returns "self" for "self_size", and "" for a name without that suffix.
  static std::string_view sized(std::string_view name);
  int result(std::string_view name) const;
  bool is_wanted(const Rule::Part& part) const;
  bool needs_input(int k, const std::vector<char>& wanted) const;

  // The value of an argument of a rule: a gradient or a saved value.
  Value given(const Argument& a, const std::vector<Tensor>& grads, bool records);

  // The gradient of one result; if the result is a list, the list of its elements' gradients.
  Value gradient(const Argument& a, size_t k, const std::vector<Tensor>& grads) const;
  Tensor zeros(size_t output) const;
  Value restored(const Saved& saved, bool records);
  Tensor restored(const SavedTensor& saved, bool records);
  void put(int k, const Value& made, std::vector<Tensor>* gradients) const;

  const Operator& op_;
  std::vector<int> first_, count_;  // per argument: its range of edges in `next`
  std::vector<Saved> arguments_, results_;
  std::unordered_map<std::string, Value> sizes_;  // sizes of arguments, by their names in rules
  std::vector<Value> result_sizes_;
  std::vector<std::pair<const Rule::Part*, const RuleFunction*>> parts_;
  bool needs_results_ = false;
};

}  // namespace scriptlang::autograd
