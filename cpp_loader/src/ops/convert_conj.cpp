// Conjugates and negatives. They are computed at once, never lazily.
#include "express.h"

namespace scriptlang {

using namespace express;

// Nothing to resolve, since there are no lazy conjugates.
SL_OP(aten_resolve_conj) { out[0] = args.tensor(0); }
SL_OP(aten_resolve_neg) { out[0] = args.tensor(0); }
SL_OP(aten_conj) {
  const Tensor& self = args.tensor(0);
  out[0] = is_complex(self.dtype()) ? conj(self) : self;
}
SL_OP(aten__conj) { op_aten_conj(ctx, args, out); }
SL_OP(aten__neg_view) { out[0] = neg(args.tensor(0)); }

}  // namespace scriptlang
