// LU factorisation of one small complex matrix per lane, with row exchanges per lane.
//
// Each lane has its own matrix and may want another pivot row. An exchange costs a masked swap of two
// rows for all lanes, so rows are exchanged only where the diagonal entry is much smaller than the
// largest one in its column (threshold pivoting; growth per column is at most 1 + 1/kThreshold). A
// singular matrix gives infinities and NaNs in its own lane only: the caller sees them in the result.
#pragma once

#include "complex.hpp"

namespace PM_ISA {

constexpr double kThreshold = 0.25;

struct RowExchange {
  int row, other;
  Mask lanes;
};

template <class Real> struct LinearSolver {
  int size;
  Complex<Real>* matrix;        // row by row; L below the diagonal, U above, reciprocal pivots on it
  RowExchange* exchanges;       // at most size * (size - 1) / 2
  int exchange_count;
  Lanes pivot_ratio;            // largest |pivot|^2 / smallest |pivot|^2

  void choose_pivot(int k) {
    Lanes own = magnitude_squared(matrix[k * size + k]), best = own;
    Lanes best_row = broadcast(k);
    for (int i = k + 1; i < size; ++i) {
      Lanes candidate = magnitude_squared(matrix[i * size + k]);
      Mask better = candidate > best;
      best = select(better, candidate, best);
      best_row = select(better, broadcast(i), best_row);
    }
    Mask weak = own < best * (kThreshold * kThreshold);
    if (!any(weak)) return;
    for (int i = k + 1; i < size; ++i) {
      Mask swap = weak & (best_row == broadcast(i));
      if (!any(swap)) continue;
      exchanges[exchange_count++] = {k, i, swap};
      exchange_rows(matrix + k * size, matrix + i * size, size, swap);
    }
  }

  static void exchange_rows(Complex<Real>* a, Complex<Real>* b, int length, Mask lanes) {
    for (int j = 0; j < length; ++j) {
      Complex<Real> old = a[j];
      a[j] = select(lanes, b[j], old);
      b[j] = select(lanes, old, b[j]);
    }
  }

  void factor() {
    exchange_count = 0;
    Lanes largest = broadcast(0.0), smallest = broadcast(1e300);
    for (int k = 0; k < size; ++k) {
      choose_pivot(k);
      Complex<Real>* pivot_row = matrix + k * size;
      Lanes pivot = magnitude_squared(pivot_row[k]);
      largest = larger(pivot, largest);
      smallest = smaller(pivot, smallest);
      Complex<Real> inverse = reciprocal(pivot_row[k]);
      pivot_row[k] = inverse;
      for (int i = k + 1; i < size; ++i) {
        Complex<Real>* row = matrix + i * size;
        Complex<Real> multiplier = row[k] * inverse;
        row[k] = multiplier;
        for (int j = k + 1; j < size; ++j) row[j] = multiply_subtract(multiplier, pivot_row[j], row[j]);
      }
    }
    pivot_ratio = largest / smallest;
  }

  // Solves in place.
  void solve(Complex<Real>* vector) const {
    for (int e = 0; e < exchange_count; ++e)
      exchange_rows(vector + exchanges[e].row, vector + exchanges[e].other, 1, exchanges[e].lanes);
    for (int i = 1; i < size; ++i) {
      Complex<Real> sum = vector[i];
      for (int j = 0; j < i; ++j) sum = multiply_subtract(matrix[i * size + j], vector[j], sum);
      vector[i] = sum;
    }
    for (int i = size - 1; i >= 0; --i) {
      Complex<Real> sum = vector[i];
      for (int j = i + 1; j < size; ++j) sum = multiply_subtract(matrix[i * size + j], vector[j], sum);
      vector[i] = sum * matrix[i * size + i];
    }
  }
};

}  // namespace PM_ISA
