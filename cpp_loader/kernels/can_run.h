// Whether this processor runs the kernels of this build.
#pragma once

namespace scriptlang::kernels {

// Of any instruction set; of the only one, where the build has one.
bool can_run();

}  // namespace scriptlang::kernels
