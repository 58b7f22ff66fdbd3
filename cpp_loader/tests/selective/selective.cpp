// Runs an archive on the arrays i0, i1... of a file and compares the first result with o0; or,
// where an operator is named, expects that the archive loads and that the call names it; where it
// is `float64` or `float16`, that the model refuses numbers of this type, which the build lacks.
//   selective MODEL.pt ARRAYS.npz [OPERATOR]
#include <cmath>
#include <cstdio>
#include <scriptlang/scriptlang.hpp>
#include <string>
#include <vector>

#include "arrays.h"

namespace sl = scriptlang;

static int failed(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  return 1;
}

static int refused(sl::Module& model, const std::vector<sl::Value>& inputs, const char* name) {
  const std::vector<std::string> missing = model.missing_operators();
  bool named = false;
  for (const std::string& m : missing) named = named || m == name;
  if (!named) return failed(std::string("missing_operators() does not name ") + name);
  try {
    model("forward", inputs);
  } catch (const sl::Error& error) {
    const std::string text = error.what();
    const bool good = error.status() == SL_MISSING_OPERATOR && text.find(name) != text.npos &&
                      text.find("scriptlang ops") != text.npos;
    return good ? 0 : failed("another error: " + text);
  }
  return failed("it ran");
}

static int without(sl::Module& model, const std::vector<sl::Value>& inputs, std::string name) {
  try {
    model.to(name == "float64" ? SL_FLOAT64 : SL_FLOAT16);
    model("forward", inputs);
  } catch (const sl::Error& error) {
    const std::string text = error.what();
    const bool good = text.find(name + " were left out") != text.npos &&
                      text.find("SCRIPTLANG_DTYPES") != text.npos;
    return good ? 0 : failed("another error: " + text);
  }
  return failed("it ran");
}

int main(int count, char** arguments) {
  if (count < 3) return failed("selective MODEL.pt ARRAYS.npz [OPERATOR]");
  sl::Module model = sl::load(arguments[1]);
  std::vector<sl::Value> inputs;
  std::vector<float> wanted;
  for (const Array& array : read_arrays(arguments[2])) {
    if (array.name == "o0") wanted = array.floats;
    else if (array.name[0] != 'i') continue;
    else if (array.ints.empty())
      inputs.push_back(sl::Tensor::copy(array.floats.data(), array.shape));
    else inputs.push_back(sl::Tensor::copy(array.ints.data(), array.shape));
  }
  if (count > 3 && std::string(arguments[3]).compare(0, 5, "float") == 0) {
    return without(model, inputs, arguments[3]);
  }
  if (count > 3) return refused(model, inputs, arguments[3]);
  const sl::Value result = model("forward", inputs);
  const sl::Value first = result.kind() == SL_TUPLE ? result[0] : result;
  const std::vector<float> found = first.tensor().values<float>();
  if (found.size() != wanted.size()) return failed("another size");
  for (size_t k = 0; k < found.size(); ++k) {
    if (!(std::fabs(found[k] - wanted[k]) <= 1e-4f * (1 + std::fabs(wanted[k])))) {
      return failed("element " + std::to_string(k) + " is " + std::to_string(found[k]));
    }
  }
  return 0;
}
