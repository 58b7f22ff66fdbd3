// Operators that read and set modes of a run.
#include "op.h"

namespace scriptlang {

SL_OP(aten_is_grad_enabled) { out[0].set_bool(ctx.grad_enabled); }
SL_OP(aten_set_grad_enabled) { ctx.grad_enabled = args.boolean(0); }

}  // namespace scriptlang
