// Derives what recording needs to know about an operator from its schema, once.
#include "recorded_operator.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace scriptlang::autograd {

char kind_of(const Type& type) {
  if (type.kind == TypeKind::Tensor) return 't';
  if (type.kind == TypeKind::Optional) return kind_of(*type.elements[0]);
  if (type.kind == TypeKind::List) return kind_of(*type.elements[0]) == 't' ? 'l' : '-';
  return '-';
}

namespace {

// Which arguments of a schema like "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"
// are marked with "!", that is, written to.
std::vector<char> written_in(std::string_view text, size_t count) {
  std::vector<char> writes(count, 0);
  size_t at = text.find('(') + 1, argument = 0;
  for (int depth = 0; at < text.size() && argument < count; ++at) {
    const char c = text[at];
    if (c == '*' && depth == 0) {  // "*, " is not an argument
      ++at;
      continue;
    }
    if (c == '(' || c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ')' && depth-- == 0) break;
    if (c == '!') writes[argument] = 1;
    if (c == ',' && depth == 0) ++argument;
  }
  return writes;
}

std::vector<char> counted(const Operator& op) {
  std::vector<char> counts;
  for (const char kind : op.takes) counts.push_back(kind != '-');
  const bool writes = std::count(op.writes.begin(), op.writes.end(), 1) > 0;
  if (op.rule->kind != Rule::Gradients || writes) return counts;
  for (size_t k = 0; k < counts.size(); ++k) {
    bool has_gradient = false;
    for (const Rule::Part& part : op.rule->parts) {
      const auto& inputs = part.inputs;
      has_gradient = has_gradient || std::find(inputs.begin(), inputs.end(),
                                               op.schema->arguments[k].name) != inputs.end();
    }
    counts[k] = counts[k] && has_gradient;
  }
  return counts;
}

Operator describe(const OpEntry& entry) {
  Operator op;
  op.schema = &schema_of(entry);
  op.qualified_name = entry.qualified_name();
  op.writes = written_in(entry.text(), op.schema->arguments.size());
  for (const Argument& a : op.schema->arguments) {
    op.takes.push_back(kind_of(*a.type));
    op.has_out = op.has_out || a.is_out;
  }
  const std::string& name = op.schema->name;
  for (const char* turning :
       {"t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "as_strided_"}) {
    op.is_turning = op.is_turning || name == concat("aten::", turning);
  }
  op.is_in_place = !op.has_out && !op.writes.empty() && op.writes[0] && op.takes[0] == 't';
  for (const Argument& r : op.schema->returns) {
    op.makes_tensors = op.makes_tensors || kind_of(*r.type) != '-';
  }
  op.rule = &rule_of(op.qualified_name);
  op.counts = counted(op);
  return op;
}

}  // namespace

const Operator& operator_of(const OpEntry& entry) {
  static std::mutex lock;
  static std::unordered_map<const OpEntry*, std::unique_ptr<const Operator>> known;
  std::lock_guard<std::mutex> guard(lock);
  std::unique_ptr<const Operator>& op = known[&entry];
  if (!op) op = std::make_unique<const Operator>(describe(entry));
  return *op;
}

}  // namespace scriptlang::autograd
