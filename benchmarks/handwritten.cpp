// What the interpreter is measured against: Newton's step for the critical equations of one fixed network
// shape, written by hand for AVX-512. Built and called by kernel.py; no part of the package.
//
//   B(x) = sum_j a_j s_j^3 + beta,   s_j = w_j.x + b_j,   n = 8 inputs, h = 10 neurons
//   F(x, lambda) = (x - u + lambda grad B, B),   J = [[I + lambda H, grad B], [grad B^T, 0]]
//
// Eight paths side by side, one per lane; real and imaginary parts in registers of their own; sizes known
// to the compiler; products of weights made beforehand; H once per symmetric pair with lambda folded into
// s_j; the right-hand side carried along as the last column. With SYMMETRIC the elimination uses the symmetry,
// makes no exchanges and says whether a pivot was too small for that. Otherwise THRESHOLD = 1 is partial pivoting; below
// 1, rows are exchanged only in lanes whose diagonal entry is that much smaller than the largest one.
#include <immintrin.h>

#ifndef SYMMETRIC
#define SYMMETRIC 0
#endif
#ifndef THRESHOLD
#define THRESHOLD 1.0
#endif

namespace {

constexpr int kInputs = 8, kHidden = 10, kSize = kInputs + 1, kLanes = 8;
constexpr int kPairs = kInputs * (kInputs + 1) / 2, kBlock = 12;

using Lanes = __m512d;
struct Complex {
  Lanes re, im;
};
using Matrix = Complex[kSize][kSize + 1];

inline Lanes all(double value) { return _mm512_set1_pd(value); }

inline Complex multiply(Complex a, Complex b) {
  return {_mm512_fnmadd_pd(a.im, b.im, _mm512_mul_pd(a.re, b.re)),
          _mm512_fmadd_pd(a.im, b.re, _mm512_mul_pd(a.re, b.im))};
}
inline Complex subtract_product(Complex c, Complex a, Complex b) {
  return {_mm512_fmadd_pd(a.im, b.im, _mm512_fnmadd_pd(a.re, b.re, c.re)),
          _mm512_fnmadd_pd(a.im, b.re, _mm512_fnmadd_pd(a.re, b.im, c.im))};
}
inline Complex add_scaled(Complex c, Lanes factor, Complex a) {
  return {_mm512_fmadd_pd(factor, a.re, c.re), _mm512_fmadd_pd(factor, a.im, c.im)};
}
inline Complex square(Complex a) {
  const Lanes cross = _mm512_mul_pd(a.re, a.im);
  return {_mm512_mul_pd(_mm512_add_pd(a.re, a.im), _mm512_sub_pd(a.re, a.im)), _mm512_add_pd(cross, cross)};
}
inline Lanes size_squared(Complex a) { return _mm512_fmadd_pd(a.im, a.im, _mm512_mul_pd(a.re, a.re)); }
inline Complex reciprocal(Complex a) {
  const Lanes scale = _mm512_div_pd(all(1.0), size_squared(a));
  return {_mm512_mul_pd(a.re, scale), _mm512_mul_pd(_mm512_sub_pd(all(0.0), a.im), scale)};
}
inline void exchange(Complex& a, Complex& b, __mmask8 lanes) {
  const Complex old = a;
  a = {_mm512_mask_mov_pd(a.re, lanes, b.re), _mm512_mask_mov_pd(a.im, lanes, b.im)};
  b = {_mm512_mask_mov_pd(b.re, lanes, old.re), _mm512_mask_mov_pd(b.im, lanes, old.im)};
}

struct Coefficients {
  double weights[kInputs][kHidden], bias[kHidden], outer[kHidden], offset;
  double slope[kHidden][kInputs];     // 3 a_j w_ji
  double curvature[kHidden][kPairs];  // 6 a_j w_ji w_jk for i <= k
  double identity[kPairs];            // 1 where i = k
};

// Left part := J, last column := -F.
inline void evaluate(const Coefficients& net, const Complex* x, const Complex* u, Matrix& matrix) {
  const Complex multiplier = x[kInputs];
  Complex s[kHidden], squares[kHidden], slope[kInputs];
  for (int j = 0; j < kHidden; ++j) s[j] = {all(net.bias[j]), all(0.0)};
  for (int i = 0; i < kInputs; ++i)
    for (int j = 0; j < kHidden; ++j) s[j] = add_scaled(s[j], all(net.weights[i][j]), x[i]);
  Complex value = {all(net.offset), all(0.0)};
  for (int j = 0; j < kHidden; ++j) {
    squares[j] = square(s[j]);
    value = add_scaled(value, all(net.outer[j]), multiply(squares[j], s[j]));
    s[j] = multiply(multiplier, s[j]);
  }
  for (int i = 0; i < kInputs; ++i) slope[i] = {all(0.0), all(0.0)};
  for (int j = 0; j < kHidden; ++j)
    for (int i = 0; i < kInputs; ++i) slope[i] = add_scaled(slope[i], all(net.slope[j][i]), squares[j]);

  // I + lambda H: as many entries at a time as fit into registers.
  Complex entries[kPairs];
  for (int first = 0; first < kPairs; first += kBlock) {
    Complex sum[kBlock];
    for (int e = 0; e < kBlock; ++e) sum[e] = {all(net.identity[first + e]), all(0.0)};
    for (int j = 0; j < kHidden; ++j)
      for (int e = 0; e < kBlock; ++e) sum[e] = add_scaled(sum[e], all(net.curvature[j][first + e]), s[j]);
    for (int e = 0; e < kBlock; ++e) entries[first + e] = sum[e];
  }
  for (int i = 0, pair = 0; i < kInputs; ++i)
    for (int k = i; k < kInputs; ++k) matrix[i][k] = matrix[k][i] = entries[pair++];
  for (int i = 0; i < kInputs; ++i) {
    matrix[i][kInputs] = matrix[kInputs][i] = slope[i];
    const Complex gap = {_mm512_sub_pd(u[i].re, x[i].re), _mm512_sub_pd(u[i].im, x[i].im)};
    matrix[i][kSize] = subtract_product(gap, multiplier, slope[i]);
  }
  matrix[kInputs][kInputs] = {all(0.0), all(0.0)};
  matrix[kInputs][kSize] = {_mm512_sub_pd(all(0.0), value.re), _mm512_sub_pd(all(0.0), value.im)};
}

// Bring a large entry of column k to row k; rows are exchanged from column `from` on.
inline void pivot(Matrix& matrix, int k, int from) {
  const Lanes own = size_squared(matrix[k][k]);
  Lanes best = own, best_row = all(k);
  for (int i = k + 1; i < kSize; ++i) {
    const Lanes candidate = size_squared(matrix[i][k]);
    best_row = _mm512_mask_mov_pd(best_row, _mm512_cmp_pd_mask(candidate, best, _CMP_GT_OQ), all(i));
    best = _mm512_max_pd(candidate, best);
  }
  const __mmask8 weak = _mm512_cmp_pd_mask(own, _mm512_mul_pd(best, all(THRESHOLD * THRESHOLD)), _CMP_LT_OQ);
  if (!weak) return;
  for (int i = k + 1; i < kSize; ++i) {
    const __mmask8 lanes = _mm512_mask_cmp_pd_mask(weak, best_row, all(i), _CMP_EQ_OQ);
    if (!lanes) continue;
    for (int j = from; j <= kSize; ++j) exchange(matrix[k][j], matrix[i][j], lanes);
  }
}

// Divide row k by its pivot.
inline void normalise(Matrix& matrix, int k) {
  const Complex inverse = reciprocal(matrix[k][k]);
  for (int j = k + 1; j <= kSize; ++j) matrix[k][j] = multiply(matrix[k][j], inverse);
}

// Last column := J^{-1} times it. Two columns are eliminated before the rest of the matrix is touched,
// which halves what goes through memory.
inline void solve(Matrix& matrix) {
#pragma GCC unroll 4
  for (int k = 0; k + 1 < kSize; k += 2) {
    pivot(matrix, k, k);
    normalise(matrix, k);
    for (int i = k + 1; i < kSize; ++i)
      matrix[i][k + 1] = subtract_product(matrix[i][k + 1], matrix[i][k], matrix[k][k + 1]);
    pivot(matrix, k + 1, k);
    for (int j = k + 2; j <= kSize; ++j)
      matrix[k + 1][j] = subtract_product(matrix[k + 1][j], matrix[k + 1][k], matrix[k][j]);
    normalise(matrix, k + 1);
    for (int i = k + 2; i < kSize; ++i) {
      const Complex first = matrix[i][k], second = matrix[i][k + 1];
      for (int j = k + 2; j <= kSize; ++j) {
        const Complex once = subtract_product(matrix[i][j], first, matrix[k][j]);
        matrix[i][j] = subtract_product(once, second, matrix[k + 1][j]);
      }
    }
  }
  normalise(matrix, kSize - 1);
  for (int i = kSize - 2; i >= 0; --i)
    for (int j = i + 1; j < kSize; ++j)
      matrix[i][kSize] = subtract_product(matrix[i][kSize], matrix[i][j], matrix[j][kSize]);
}

// The same with the upper half of a symmetric matrix: L below the diagonal, D L^T above it, the reciprocals of D on
// it. A whole row stays in registers. Lanes whose multipliers grow beyond a thousand come back.
template <int k> inline __mmask8 eliminate_row(Matrix& matrix) {
  constexpr int kLength = kSize + 1 - k;
  Complex sum[kLength];
#pragma GCC unroll 10
  for (int j = 0; j < kLength; ++j) sum[j] = matrix[k][k + j];
  for (int p = 0; p < k; ++p) {
    const Complex factor = matrix[k][p];
#pragma GCC unroll 10
    for (int j = 0; j < kLength; ++j) sum[j] = subtract_product(sum[j], factor, matrix[p][k + j]);
  }
  const Complex inverse = reciprocal(sum[0]);
  Lanes largest = all(0.0);
#pragma GCC unroll 10
  for (int j = 1; j < kLength; ++j) {
    matrix[k][k + j] = sum[j];
    if (k + j == kSize) break;
    largest = _mm512_max_pd(size_squared(sum[j]), largest);
    matrix[k + j][k] = multiply(sum[j], inverse);
  }
  matrix[k][k] = inverse;
  __mmask8 weak = _mm512_cmp_pd_mask(largest, _mm512_mul_pd(size_squared(sum[0]), all(1e6)), _CMP_NLE_UQ);
  if constexpr (k + 1 < kSize) weak |= eliminate_row<k + 1>(matrix);
  return weak;
}

inline __mmask8 solve_symmetric(Matrix& matrix) {
  const __mmask8 weak = eliminate_row<0>(matrix);
  for (int i = 0; i < kSize; ++i) matrix[i][kSize] = multiply(matrix[i][kSize], matrix[i][i]);
  for (int i = kSize - 2; i >= 0; --i)
    for (int j = i + 1; j < kSize; ++j)
      matrix[i][kSize] = subtract_product(matrix[i][kSize], matrix[j][i], matrix[j][kSize]);
  return weak;
}

Complex gather(const double* lanes, int stride, int entry) {
  alignas(64) double re[kLanes], im[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    re[lane] = lanes[2 * (lane * stride + entry)];
    im[lane] = lanes[2 * (lane * stride + entry) + 1];
  }
  return {_mm512_load_pd(re), _mm512_load_pd(im)};
}

}  // namespace

// `rounds` times: evaluate, factor, solve, and move by a billionth of the step: no round can be left out.
// inputs (8, 9), point (8,) and steps (8, 9) are complex, interleaved; weights (10, 8), bias and outer (10,).
// Returns 1 if symmetric elimination met a pivot that was too small.
extern "C" int handwritten(const double* weights, const double* bias, const double* outer, double offset,
                            const double* inputs, const double* point, long rounds, double* steps) {
  static Coefficients net;
  net.offset = offset;
  for (int i = 0, pair = 0; i < kInputs; ++i)
    for (int k = i; k < kInputs; ++k) net.identity[pair++] = i == k;
  for (int j = 0; j < kHidden; ++j) {
    net.bias[j] = bias[j];
    net.outer[j] = outer[j];
    const double* w = weights + j * kInputs;
    for (int i = 0, pair = 0; i < kInputs; ++i) {
      net.weights[i][j] = w[i];
      net.slope[j][i] = 3 * outer[j] * w[i];
      for (int k = i; k < kInputs; ++k) net.curvature[j][pair++] = 6 * outer[j] * w[i] * w[k];
    }
  }
  Complex x[kSize], u[kInputs];
  Matrix matrix;
  for (int i = 0; i < kSize; ++i) x[i] = gather(inputs, kSize, i);
  for (int i = 0; i < kInputs; ++i) u[i] = {all(point[2 * i]), all(point[2 * i + 1])};
  __mmask8 weak = 0;
  for (long round = 0; round < rounds; ++round) {
    evaluate(net, x, u, matrix);
#if SYMMETRIC
    weak |= solve_symmetric(matrix);
#else
    solve(matrix);
#endif
    for (int i = 0; i < kSize; ++i) x[i] = add_scaled(x[i], all(1e-9), matrix[i][kSize]);
  }
  alignas(64) double re[kLanes], im[kLanes];
  for (int i = 0; i < kSize; ++i) {
    _mm512_store_pd(re, matrix[i][kSize].re);
    _mm512_store_pd(im, matrix[i][kSize].im);
    for (int lane = 0; lane < kLanes; ++lane) {
      steps[2 * (lane * kSize + i)] = re[lane];
      steps[2 * (lane * kSize + i) + 1] = im[lane];
    }
  }
  return weak != 0;
}
