// The autograd mode of a thread.
#pragma once

namespace scriptlang::python {

// Whether the calling thread records derivatives: what `no_grad()` in Python has set.
inline thread_local bool grad_enabled = true;

}  // namespace scriptlang::python
