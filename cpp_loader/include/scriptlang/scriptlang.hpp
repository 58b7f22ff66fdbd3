// scriptlang: runs TorchScript archives. C++17, header only, over the C interface.
//
//   scriptlang::Module model = scriptlang::load("model.pt");
//   scriptlang::Tensor x = scriptlang::Tensor::view(samples, {1, 512});
//   float p = model("forward", {x, 16000}).tensor().item<float>();
//
// Errors are scriptlang::Error; what can fail has a form that gives a Result instead (result.hpp),
// with which it works without exceptions and RTTI. Values are handles: copying one shares it. What
// scriptlang.h says of threads, units and lifetimes holds here, too.
#pragma once

#include "derivatives.hpp"
#include "module.hpp"
#include "operators.hpp"
#include "reservation.hpp"
#include "result.hpp"
#include "value.hpp"
