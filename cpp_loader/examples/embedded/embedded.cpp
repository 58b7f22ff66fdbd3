// A program with its model in it: nothing is read from a file.
//
//   embedded 1.57
//
// CMake writes the bytes of curve.pt as an array (bytes.cmake), which is linked in.
#include <scriptlang/scriptlang.hpp>

#include <cstdio>
#include <cstdlib>

extern "C" const unsigned char curve_bytes[];
extern "C" const size_t curve_size;

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: embedded NUMBER\n");
    return 2;
  }
  try {
    scriptlang::Module curve = scriptlang::load(curve_bytes, curve_size);
    auto x = scriptlang::Tensor::take<float>({float(std::atof(arguments[1]))}, {1});
    std::printf("%.2f from %zu bytes\n", double(curve.forward({x}).tensor().item<float>()),
                curve_size);
  } catch (const scriptlang::Error& e) {
    std::fprintf(stderr, "%s: %s\n", e.class_name().c_str(), e.what());
    return 1;
  }
}
