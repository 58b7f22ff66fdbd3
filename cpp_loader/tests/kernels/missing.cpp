// What values refer to and the tests of the kernels never meet: histories of derivatives.
namespace scriptlang::autograd {

struct History;
void destroy(History*);
void destroy(History*) {}

}  // namespace scriptlang::autograd
