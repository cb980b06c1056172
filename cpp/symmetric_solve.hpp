// Elimination for one small complex symmetric matrix per lane: A = L D L^T, without exchanges.
//
// Row by row (Crout): with U = D L^T,  u_kj = a_kj - sum_{p<k} l_kp u_pj  for j >= k and l_jk = u_kj / d_k, half of
// the work of LU. The sums stay in registers; matrix and right sides are read where the program left them. Without
// exchanges a small pivot makes large multipliers and costs accuracy: lanes where that happens are reported as weak,
// and whoever asked must solve them another way.
#pragma once

#include "evaluate.hpp"

namespace PM_ISA {

// A lane is weak from a multiplier of a thousand on, which may cost three digits of a Newton step, or where the pivots differ
// by a factor of 1e10: whether that is a singular matrix or an unlucky order of the rows, LU can tell (squares).
constexpr double kLargestMultiplier = 1e6, kLargestPivotRatio = 1e20;
// Entries of a row computed together.
template <class Real> constexpr int kColumnBlock = 1;
template <> inline constexpr int kColumnBlock<Lanes> = kVectorRegisters == 32 ? 10 : 4;

template <class Real> struct SymmetricSolver {
  using Number = Complex<Real>;

  int size;
  Number* lower;      // row by row; l_ij below the diagonal, 1 / d_i on it
  Number* upper;      // row by row; u_ij on and above the diagonal
  Mask weak;
  Lanes pivot_ratio;  // largest |pivot|^2 / smallest |pivot|^2

  // results[s] := A^{-1} times the right side sides[s][rows[i]], where a_ij is registers[entries[i * size + j]], or zero
  // where that index is negative.
  template <int Sides>
  void solve(const Number* registers, const std::int32_t* entries, const Number* const (&sides)[Sides],
             const std::int32_t* rows, Number* const (&results)[Sides]) {
    Lanes largest_pivot = broadcast(0.0), smallest_pivot = broadcast(1e300);
    weak = no_lane();
    for (int k = 0; k < size; ++k) {
      eliminate_row(registers, entries + k * size, k);
      substitute_row(sides, rows[k], results, k);
      const Number pivot = upper[k * size + k];
      const Number inverse = reciprocal(pivot);
      Lanes largest = broadcast(0.0);
      for (int i = k + 1; i < size; ++i) {
        const Number entry = upper[k * size + i];
        largest = larger(magnitude_squared(entry), largest);
        lower[i * size + k] = entry * inverse;
      }
      lower[k * size + k] = inverse;
      const Lanes pivot_size = magnitude_squared(pivot);
      largest_pivot = larger(pivot_size, largest_pivot);
      smallest_pivot = smaller(pivot_size, smallest_pivot);
      weak |= ~(largest <= pivot_size * kLargestMultiplier);  // this way round NaN is weak
    }
    pivot_ratio = largest_pivot / smallest_pivot;
    weak |= ~(pivot_ratio <= kLargestPivotRatio);
    substitute_back(results);
  }

 private:
  void eliminate_row(const Number* registers, const std::int32_t* entries, int k) {
    constexpr int kBlock = kColumnBlock<Real>;
    int j = k;
    for (; j + kBlock <= size; j += kBlock) eliminate<kBlock>(registers, entries, k, j);
    eliminate_last<kBlock - 1>(registers, entries, k, j);
  }

  // The entries that are left, fewer than a block.
  template <int Columns> void eliminate_last(const Number* registers, const std::int32_t* entries, int k, int j) {
    if constexpr (Columns > 0) {
      if (size - j == Columns)
        eliminate<Columns>(registers, entries, k, j);
      else
        eliminate_last<Columns - 1>(registers, entries, k, j);
    }
  }

  template <int Columns> void eliminate(const Number* registers, const std::int32_t* entries, int k, int j) {
    Number sum[Columns];
    PM_UNROLL
    for (int c = 0; c < Columns; ++c) sum[c] = entries[j + c] < 0 ? zero<Real>() : registers[entries[j + c]];
    for (int p = 0; p < k; ++p) {
      const Number factor = lower[k * size + p];
      const Number* row = upper + p * size + j;
      PM_UNROLL
      for (int c = 0; c < Columns; ++c) sum[c] = multiply_subtract(factor, row[c], sum[c]);
    }
    PM_UNROLL
    for (int c = 0; c < Columns; ++c) upper[k * size + j + c] = sum[c];
  }

  // Row k of L y = side.
  template <int Sides>
  void substitute_row(const Number* const (&sides)[Sides], int row, Number* const (&results)[Sides], int k) const {
    Number sum[Sides];
    PM_UNROLL
    for (int s = 0; s < Sides; ++s) sum[s] = sides[s][row];
    for (int p = 0; p < k; ++p) {
      PM_UNROLL
      for (int s = 0; s < Sides; ++s) sum[s] = multiply_subtract(lower[k * size + p], results[s][p], sum[s]);
    }
    PM_UNROLL
    for (int s = 0; s < Sides; ++s) results[s][k] = sum[s];
  }

  // D L^T x = y. The newest entry of x comes last into each sum, so that the sums wait for one operation only.
  template <int Sides> void substitute_back(Number* const (&results)[Sides]) const {
    for (Number* result : results)
      for (int i = 0; i < size; ++i) result[i] = result[i] * lower[i * size + i];
    for (int i = size - 2; i >= 0; --i) {
      Number sum[Sides];
      PM_UNROLL
      for (int s = 0; s < Sides; ++s) sum[s] = results[s][i];
      for (int j = size - 1; j > i; --j) {
        PM_UNROLL
        for (int s = 0; s < Sides; ++s) sum[s] = multiply_subtract(lower[j * size + i], results[s][j], sum[s]);
      }
      PM_UNROLL
      for (int s = 0; s < Sides; ++s) results[s][i] = sum[s];
    }
  }
};

}  // namespace PM_ISA
