// Tables and functions that the files of one instruction set share with each other and with
// isa/set.cpp.
#pragma once
#include "../kernel_set.h"

namespace scriptlang::kernels::SL_ISA {

extern const GemmFunctions<float> gemm_f32;
extern const GemmFunctions<double> gemm_f64;
extern const FastLoops fast_loops;
extern const FinishLoops finish_loops;
extern const HalfLoops half_loops;
extern const PlainLoops plain_loops;
extern const PairLoops pair_loops;
extern const ConvFunctions<float> conv_f32;
extern const ConvFunctions<double> conv_f64;
extern const FourierFunctions<float> fourier_f32;
extern const FourierFunctions<double> fourier_f64;
extern const RowFunctions rows;
extern const AllLineFunctions lines;
extern const LastConvFunctions last_conv;
extern const PoolFunctions pool;
extern const QuantizedProductFunctions quantized_product;
extern const QuantizedRowFunctions quantized_rows;
extern const TwisterFunctions twister;
extern const NormalFunctions normal;
extern const CopyFunctions copies;
extern const GridFunctions grid;
extern const IntegerFunctions integers;
extern const ResizeFunctions resize;
extern const HalfProductFunctions half_product;
extern const DenseFunctions dense_rows;
extern const BackwardFunctions<float> backward_f32;
extern const BackwardFunctions<double> backward_f64;
extern const UpdateFunctions updates;

// Functions of isa/gemm.cpp that convolutions use, too. dot_products needs contiguous rows of a and
// contiguous columns of b; the columns of c have the stride `c_column`.
void matrix_product(const Gemm<float>& g);
void matrix_product(const Gemm<double>& g);
void dot_products(const Gemm<float>& g, int64_t c_column);
void dot_products(const Gemm<double>& g, int64_t c_column);

// In isa/conv_weights.cpp, for isa/conv.cpp.
void weight_gradient(const ConvWeights<float>& c);
void weight_gradient(const ConvWeights<double>& c);

// In isa/columns.cpp, for isa/rows.cpp.
void softmax_columns(int64_t rows, int64_t width, const float* x, int64_t stride, float* y,
                     bool log);
void log_sum_exp_columns(int64_t rows, int64_t width, const float* x, int64_t stride, float* to);

// Calls a convolution that needs contiguous channels with a channels-last copy of the input.
void with_dense_input(const LastConv& c, void (*convolve)(const LastConv&));
// In isa/depthwise.cpp and isa/winograd.cpp, for isa/last_conv.cpp.
int64_t packed_depthwise_size(const ConvShape& s, int64_t groups);
void pack_depthwise(const ConvShape& s, int64_t groups, const float* w, float* to);
void convolve_depthwise(const LastConv& c);
bool winograd_pays(const ConvShape& s, int64_t groups);
void pack_winograd(const ConvShape& s, const float* w, float* to);
void convolve_winograd(const LastConv& c);

const KernelSet& kernel_set();

}  // namespace scriptlang::kernels::SL_ISA
