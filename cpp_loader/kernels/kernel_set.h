// The kernels of the best instruction set that this processor supports.
#pragma once
#include "conv.h"
#include "copies.h"
#include "fourier.h"
#include "gemm.h"
#include "last_conv.h"
#include "lines.h"
#include "loops.h"
#include "pairs.h"
#include "pool.h"
#include "quantized.h"
#include "rows.h"
#include "twister.h"

namespace scriptlang::kernels {

// Used by few operators, which include their headers.
template <class T>
struct BackwardFunctions;
struct DenseFunctions;
struct GridFunctions;
struct HalfProductFunctions;
struct IntegerFunctions;
struct NormalFunctions;
struct ResizeFunctions;
struct UpdateFunctions;

struct KernelSet {
  const char* name;  // "avx512", "avx2", "portable"
  const GemmFunctions<float>* gemm_f32;
  const GemmFunctions<double>* gemm_f64;
  const FastLoops* loops;
  const FinishLoops* finish;
  const HalfLoops* halves;
  const PlainLoops* plain_loops;
  const PairLoops* pairs;
  const ConvFunctions<float>* conv_f32;
  const ConvFunctions<double>* conv_f64;
  const RowFunctions* rows;
  const AllLineFunctions* lines;
  const LastConvFunctions* last_conv;
  const PoolFunctions* pool;
  const QuantizedProductFunctions* quantized_product;
  const QuantizedRowFunctions* quantized_rows;
  const TwisterFunctions* twister;
  const NormalFunctions* normal;
  const CopyFunctions* copies;
  const FourierFunctions<float>* fourier_f32;
  const FourierFunctions<double>* fourier_f64;
  const GridFunctions* grid;
  const IntegerFunctions* integers;
  const ResizeFunctions* resize;
  const HalfProductFunctions* half_product;
  const DenseFunctions* dense_rows;
  const BackwardFunctions<float>* backward_f32;
  const BackwardFunctions<double>* backward_f64;
  const UpdateFunctions* updates;

  template <class T>
  const BackwardFunctions<T>& backward() const;
  template <class T>
  const GemmFunctions<T>& gemm() const;
  template <class T>
  const ConvFunctions<T>& conv() const;
  template <class T>
  const FourierFunctions<T>& fourier() const;
};

template <>
inline const BackwardFunctions<float>& KernelSet::backward<float>() const {
  return *backward_f32;
}
template <>
inline const BackwardFunctions<double>& KernelSet::backward<double>() const {
  return *backward_f64;
}

template <>
inline const GemmFunctions<float>& KernelSet::gemm<float>() const {
  return *gemm_f32;
}
template <>
inline const GemmFunctions<double>& KernelSet::gemm<double>() const {
  return *gemm_f64;
}

template <>
inline const ConvFunctions<float>& KernelSet::conv<float>() const {
  return *conv_f32;
}
template <>
inline const ConvFunctions<double>& KernelSet::conv<double>() const {
  return *conv_f64;
}

template <>
inline const FourierFunctions<float>& KernelSet::fourier<float>() const {
  return *fourier_f32;
}
template <>
inline const FourierFunctions<double>& KernelSet::fourier<double>() const {
  return *fourier_f64;
}

// Returns the index-th set that this processor can run, the fastest first; null after the last.
const KernelSet* usable_kernels(int index);

// Returns the set to use, chosen at the first call. The environment variable SCRIPTLANG_ISA
// ("portable", "avx2") selects another usable one; other values are ignored.
const KernelSet& kernels();

}  // namespace scriptlang::kernels

#if defined(SL_ONE_ISA)
#include "one_set.h"
#endif
