// scriptlang: runs TorchScript archives. This is the C++17 interface, header only, on top of the C
// interface.
//
//   scriptlang::Module model = scriptlang::load("model.pt");
//   scriptlang::Tensor x = scriptlang::Tensor::view(samples, {1, 512});
//   float p = model("forward", {x, 16000}).tensor().item<float>();
//
// Errors are thrown as scriptlang::Error. Functions that can fail also have a variant that returns
// a Result (result.hpp); with these the interface works without exceptions and RTTI. Values are
// handles, which share the value when they are copied. Threads, units and lifetimes are as in
// scriptlang.h.
#pragma once

#include "derivatives.hpp"
#include "module.hpp"
#include "operators.hpp"
#include "reservation.hpp"
#include "result.hpp"
#include "value.hpp"
