// Dense linear algebra on one matrix: row-major, of double or std::complex<double>.
//
// Small and plain: the engine needs them where no LAPACK is. n is the order of square matrices.
#pragma once

#include <complex>
#include <cstdint>

#include "stop.h"

namespace scriptlang::kernels::dense {

using Complex = std::complex<double>;

inline double conjugate(double x) { return x; }
inline Complex conjugate(Complex x) { return std::conj(x); }
inline double real_part(double x) { return x; }
inline double real_part(Complex x) { return x.real(); }
inline double square_of(double x) { return x * x; }
inline double square_of(Complex x) { return std::norm(x); }
// LAPACK's measure of a number's size when it looks for a pivot.
inline double size_of(double x) { return x < 0 ? -x : x; }
inline double size_of(Complex x) { return size_of(x.real()) + size_of(x.imag()); }

// LU of an m x n matrix in place, with exchanges of rows (`pivots`, from 0) where `pivot`. The
// number, from 1, of the first pivot that is zero; or 0.
template <class T>
int64_t factor_lu(T* a, int64_t m, int64_t n, int64_t* pivots, bool pivot);
// b [n][columns] becomes A^-1 b, by the factors; with `adjoint`, that of the adjoint matrix.
template <class T>
void solve_lu(const T* lu, const int64_t* pivots, int64_t n, T* b, int64_t columns, bool adjoint);

// The lower factor in place, what is above it zero. The first order, from 1, whose leading minor
// is not positive-definite; or 0. Only the lower triangle is read.
template <class T>
int64_t factor_cholesky(T* a, int64_t n);
// b [n][columns] becomes A^-1 b for a triangular A.
template <class T>
void solve_triangle(const T* a, int64_t n, bool upper, bool unit, T* b, int64_t columns);

// The lower triangle becomes factors L and D as LAPACK's sytrf (or hetrf) leaves them, what is
// above it zero; pivots count from 1, two equal negative ones mark a block of two rows of D. The
// number, from 1, of the first pivot that is zero; or 0.
template <class T>
int64_t factor_ldl(T* a, int64_t n, bool hermitian, int64_t* pivots);
// b [n][columns] becomes A^-1 b, by such factors; every |pivot| must be in [1, n].
template <class T>
void solve_ldl(const T* a, const int64_t* pivots, int64_t n, bool hermitian, T* b, int64_t columns);

// R above the diagonal and Householder vectors below it, with min(m, n) factors tau, as LAPACK's
// geqrf leaves them.
template <class T>
void factor_qr(T* a, int64_t m, int64_t n, T* tau);
// c [m][columns] becomes Q c, or with `adjoint` Q^H c. The `count` vectors are columns of a
// [m][width].
template <class T>
void apply_reflections(const T* a, int64_t m, int64_t width, const T* tau, int64_t count, T* c,
                       int64_t columns, bool adjoint);

// Eigenvalues of a hermitian matrix, ascending, and unless `vectors` is null those in columns.
// False when the iteration does not converge; so the others.
template <class T>
bool eigen_hermitian(const T* a, int64_t n, double* values, T* vectors);
// Singular values of a finite m x n matrix, m >= n, descending. Unless they are null, u [m][width]
// becomes the left vectors, n or m of them, and v [n][n] the right ones, in columns.
template <class T>
bool singular_values(const T* a, int64_t m, int64_t n, double* s, T* u, int64_t width, T* v);

// Eigenvalues of any square matrix and, unless `vectors` is null, right vectors of length one in
// its columns. Destroys a.
bool eigen_general(Complex* a, int64_t n, Complex* values, Complex* vectors);

}  // namespace scriptlang::kernels::dense
