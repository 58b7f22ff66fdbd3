// The kernels of a build for one instruction set. Callers name each table directly, so that a
// program links only the tables that its operators need. kernel_set.h includes this file in such a
// build.
#pragma once

namespace scriptlang::kernels {

// X(type of a table, its name in KernelSet, its name in the files of isa/).
// clang-format off
#define SL_KERNEL_TABLES(X)                                       \
  X(GemmFunctions<float>, gemm_f32, gemm_f32)                     \
  X(GemmFunctions<double>, gemm_f64, gemm_f64)                    \
  X(FinishLoops, finish, finish_loops)                            \
  X(HalfLoops, halves, half_loops)                                \
  X(PlainLoops, plain_loops, plain_loops)                         \
  X(PairLoops, pairs, pair_loops)                                 \
  X(ConvFunctions<float>, conv_f32, conv_f32)                     \
  X(ConvFunctions<double>, conv_f64, conv_f64)                    \
  X(RowFunctions, rows, rows)                                     \
  X(AllLineFunctions, lines, lines)                               \
  X(LastConvFunctions, last_conv, last_conv)                      \
  X(PoolFunctions, pool, pool)                                    \
  X(QuantizedProductFunctions, quantized_product, quantized_product) \
  X(QuantizedRowFunctions, quantized_rows, quantized_rows)        \
  X(TwisterFunctions, twister, twister)                           \
  X(NormalFunctions, normal, normal)                              \
  X(CopyFunctions, copies, copies)                                \
  X(FourierFunctions<float>, fourier_f32, fourier_f32)            \
  X(FourierFunctions<double>, fourier_f64, fourier_f64)           \
  X(GridFunctions, grid, grid)                                    \
  X(IntegerFunctions, integers, integers)                         \
  X(ResizeFunctions, resize, resize)                              \
  X(HalfProductFunctions, half_product, half_product)             \
  X(DenseFunctions, dense_rows, dense_rows)                       \
  X(BackwardFunctions<float>, backward_f32, backward_f32)         \
  X(BackwardFunctions<double>, backward_f64, backward_f64)         \
  X(UpdateFunctions, updates, updates)
// clang-format on

namespace SL_ONE_ISA {
#define X(type, name, table) extern const type table;
SL_KERNEL_TABLES(X)
#undef X
}  // namespace SL_ONE_ISA

// Like KernelSet, but with constants.
struct OnlySet {
#define X(type, name, table) static constexpr const type* name = &SL_ONE_ISA::table;
  SL_KERNEL_TABLES(X)
#undef X

  template <class T>
  static const BackwardFunctions<T>& backward() {
    if constexpr (sizeof(T) == sizeof(float)) {
      return *backward_f32;
    } else {
      check_kept(ScalarType::Float64);
      return *backward_f64;
    }
  }
  template <class T>
  static const GemmFunctions<T>& gemm() {
    if constexpr (sizeof(T) == sizeof(float)) {
      return *gemm_f32;
    } else {
      check_kept(ScalarType::Float64);
      return *gemm_f64;
    }
  }
  template <class T>
  static const ConvFunctions<T>& conv() {
    if constexpr (sizeof(T) == sizeof(float)) {
      return *conv_f32;
    } else {
      check_kept(ScalarType::Float64);
      return *conv_f64;
    }
  }
  template <class T>
  static const FourierFunctions<T>& fourier() {
    if constexpr (sizeof(T) == sizeof(float)) {
      return *fourier_f32;
    } else {
      check_kept(ScalarType::Float64);
      return *fourier_f64;
    }
  }
};

constexpr OnlySet only_set() { return {}; }
#define kernels() only_set()

}  // namespace scriptlang::kernels
