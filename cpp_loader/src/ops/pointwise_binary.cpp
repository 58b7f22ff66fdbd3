// Shared by pointwise operators with two operands.
#include "pointwise_binary.h"

namespace scriptlang {

using kernels::Binary;

Tensor binary_result(const Input& a, const Input& b, Binary op, const char* name, Rule rule,
                     const double* params, const Tensor& into, bool may_reuse) {
  Pointwise p;
  p.table = &kernels::loops(op);
  p.name = name;
  p.compute = result_type(a, b);
  if (rule == Rule::kFloat) p.compute = float_type(p.compute);
  if (rule == Rule::kToBool) p.produced = ScalarType::Bool;
  p.params = params;
  p.may_reuse = may_reuse;
  p.last_is_exact = op == Binary::k_mul || op == Binary::k_div || op == Binary::k_div_floor ||
                    op == Binary::k_div_trunc;
  p.count = 2;
  p.in[0] = a;
  p.in[1] = b;
  p.out = into;
  if (into.defined()) {
    check_can_cast(rule == Rule::kToBool ? ScalarType::Bool : p.compute, into.dtype());
  }
  return run(p);
}

}  // namespace scriptlang
