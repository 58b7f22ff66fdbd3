// Piecewise polynomials of special functions, on 16 intervals each. The coefficient of t^d on
// interval i is at [d][i]; t runs from -1/2 to 1/2 on each interval.
#pragma once

namespace scriptlang::kernels {

extern const double kI0[15][16];
extern const double kI1[15][16];
extern const double kJ0[12][16];
extern const double kWave0[9][16];
extern const double kY0[12][16];
extern const double kJ1[12][16];
extern const double kWave1[9][16];
extern const double kY1[12][16];
extern const double kK0[12][16];
extern const double kK1[12][16];
extern const double kInverseErf[14][16];
extern const double kFarInverseErf[12][16];
extern const double kGamma[15][16];
extern const double kAiry[15][16];
extern const double kAiryFar[11][16];

}  // namespace scriptlang::kernels
