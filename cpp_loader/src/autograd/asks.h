// Which functions ask for derivatives themselves, so that their calls are recorded.
#pragma once
#include <vector>

namespace scriptlang {
struct Function;
class Program;
namespace autograd {

// Whether any function of a program asks for derivatives.
bool asks(const Program& program);

// A function and all that it may call, directly or indirectly.
std::vector<const Function*> reached(const Program& program, const Function& from);

// Whether a function, or one that it may call, asks for derivatives. The answer is cached.
bool differentiates(const Program& program, const Function& function);

}  // namespace autograd
}  // namespace scriptlang
