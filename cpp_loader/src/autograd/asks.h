// Which functions ask for derivatives themselves, so that their calls are recorded.
#pragma once
#include <vector>

namespace scriptlang {
struct Function;
class Program;
namespace autograd {

// Whether a function of a program asks for derivatives.
bool asks(const Program& program);

// A function, and those that it may call.
std::vector<const Function*> reached(const Program& program, const Function& from);

// Whether a function may ask for derivatives itself, or one that it calls.
bool differentiates(const Program& program, const Function& function);

}  // namespace autograd
}  // namespace scriptlang
