// From a function as it was compiled to the one that runs.
#include "optimize.h"

namespace scriptlang::optimize {

std::unique_ptr<Function> optimized(const Function& function, bool inlines) {
  std::unique_ptr<Function> made = inlined(function, inlines);
  end_lifetimes(made.get());
  verify(made.get());
  return made;
}

}  // namespace scriptlang::optimize
