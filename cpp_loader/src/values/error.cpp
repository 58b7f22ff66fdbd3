#include "error.h"

namespace scriptlang {

const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
#define X(name, text)   \
  case ErrorKind::name: \
    return text;
    SL_ERROR_KINDS(X)
#undef X
  }
  return "RuntimeError";
}

}  // namespace scriptlang
