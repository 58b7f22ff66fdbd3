// Whether this processor can run the kernels of this build.
#pragma once

namespace scriptlang::kernels {

// True if it supports any instruction set of the build (or the only one that the build has).
bool can_run();

}  // namespace scriptlang::kernels
