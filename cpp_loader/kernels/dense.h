// Dense linear algebra on one matrix: row-major, of double or std::complex<double>.
//
// A small, plain implementation for builds without LAPACK. n is the order of square matrices.
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
// LAPACK's measure of a number's size in the search for a pivot.
inline double size_of(double x) { return x < 0 ? -x : x; }
inline double size_of(Complex x) { return size_of(x.real()) + size_of(x.imag()); }

// LU factorisation of an m x n matrix in place. With `pivot`, rows are exchanged; `pivots` counts
// from 0. Returns the number, from 1, of the first pivot that is zero, or 0 if none is.
template <class T>
int64_t factor_lu(T* a, int64_t m, int64_t n, int64_t* pivots, bool pivot);
// Replaces b [n][columns] by A^-1 b, using the factors; with `adjoint`, by the inverse of A^H times
// b.
template <class T>
void solve_lu(const T* lu, const int64_t* pivots, int64_t n, T* b, int64_t columns, bool adjoint);

// Computes the lower Cholesky factor in place and zeroes the elements above it. Returns the first
// order, from 1, whose leading minor is not positive-definite, or 0. Only the lower triangle is
// read.
template <class T>
int64_t factor_cholesky(T* a, int64_t n);
// Replaces b [n][columns] by A^-1 b for a triangular A; `unit` means that its diagonal is all ones.
template <class T>
void solve_triangle(const T* a, int64_t n, bool upper, bool unit, T* b, int64_t columns);

// Computes the factors L and D in the lower triangle, in the format of LAPACK's sytrf (or hetrf),
// and zeroes the elements above it. Pivots count from 1; two equal negative ones mark a block of
// two rows of D. Returns the number, from 1, of the first pivot that is zero, or 0.
template <class T>
int64_t factor_ldl(T* a, int64_t n, bool hermitian, int64_t* pivots);
// Replaces b [n][columns] by A^-1 b, using such factors; every |pivot| must be in [1, n].
template <class T>
void solve_ldl(const T* a, const int64_t* pivots, int64_t n, bool hermitian, T* b, int64_t columns);

// QR factorisation in place, in the format of LAPACK's geqrf: R on and above the diagonal,
// Householder vectors below it, with min(m, n) factors tau.
template <class T>
void factor_qr(T* a, int64_t m, int64_t n, T* tau);
// Replaces c [m][columns] by Q c, or with `adjoint` by Q^H c. The `count` vectors are columns of a
// [m][width].
template <class T>
void apply_reflections(const T* a, int64_t m, int64_t width, const T* tau, int64_t count, T* c,
                       int64_t columns, bool adjoint);

// Computes the eigenvalues of a hermitian matrix, ascending, and unless `vectors` is null the
// eigenvectors in its columns. Like the functions below, returns false if the iteration does not
// converge.
template <class T>
bool eigen_hermitian(const T* a, int64_t n, double* values, T* vectors);
// Computes the singular values of a finite m x n matrix with m >= n, descending. Unless they are
// null, u [m][width] gets the left vectors (width is n or m) and v [n][n] the right ones, in
// columns.
template <class T>
bool singular_values(const T* a, int64_t m, int64_t n, double* s, T* u, int64_t width, T* v);

// Computes the eigenvalues of any square matrix and, unless `vectors` is null, the right
// eigenvectors with length one in its columns. Destroys a.
bool eigen_general(Complex* a, int64_t n, Complex* values, Complex* vectors);

}  // namespace scriptlang::kernels::dense
