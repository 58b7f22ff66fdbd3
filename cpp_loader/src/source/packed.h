// Texts that are part of the library, deflated: the overloads and the bodies of operators,
// and their derivatives.
#pragma once

#include <string_view>

namespace scriptlang::source {

std::string_view overloads_text();    // overloads.txt
std::string_view bodies_text();       // bodies.txt
std::string_view derivatives_text();  // derivatives.txt
std::string_view left_out_text();     // schemas that a build for some programs has no kernels of

}  // namespace scriptlang::source
