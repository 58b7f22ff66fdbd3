// A plug-in in C++ with an operator that custom.pt calls, by the wrapper of values: my::fails.
#include <scriptlang/plugin.h>
#include <scriptlang/scriptlang.hpp>

using scriptlang::Error;
using scriptlang::Result;
using scriptlang::Value;

static Result<Value> fails(const std::vector<Value>& given) {
  if (given[0].tensor().numel() == 1) return given[0];
  return Error(SL_RUN_ERROR, "ValueError", "more than one", "");
}

SL_PLUGIN(error) {
  Result<void> done = scriptlang::try_register_operator("my::fails(Tensor x) -> Tensor", fails);
  if (done) return SL_OK;
  *error = sl_error_make("RuntimeError", done.error().what());
  return SL_RUN_ERROR;
}
