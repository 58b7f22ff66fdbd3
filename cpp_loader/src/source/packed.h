// Texts that are part of the library, in compressed form: the overloads of operators, their bodies
// and their derivatives.
#pragma once

#include <string_view>

namespace scriptlang::source {

std::string_view overloads_text();    // overloads.txt
std::string_view bodies_text();       // bodies.txt
std::string_view derivatives_text();  // derivatives.txt
// The schemas of the operators that were left out of a build for some programs. Only such builds
// have it.
std::string_view left_out_text();

}  // namespace scriptlang::source
