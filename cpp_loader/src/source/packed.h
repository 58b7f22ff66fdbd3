// Texts that are part of the library, deflated: the overloads and the bodies of operators,
// and their derivatives.
#pragma once

#include <string_view>

namespace scriptlang::source {

std::string_view overloads_text();    // overloads.txt
std::string_view bodies_text();       // bodies.txt
std::string_view derivatives_text();  // derivatives.txt

}  // namespace scriptlang::source
