// A thread per path: the upper half of the Jacobian stays in the thread's registers, the path's vectors in shared memory.
//
// A = L D L^T without exchanges, right-looking: the row of a pivot is scaled and taken from the rows below it. All loops have
// constant bounds and are unrolled, so that no entry of the matrix has an address.

constexpr int kEntries = PM_SIZE;  // of a vector, held by one lane
constexpr int kVectors = 5;        // point, slope, the two one step before, candidate

PM_DEVICE constexpr int upper_index(int row, int column) { return row * PM_SIZE - row * (row - 1) / 2 + column - row; }

struct Path {
  Complex* memory;             // entry e of this thread's vector v is memory[(v * PM_SIZE + e) * stride]
  int stride;
  const double* coefficients;
  const Complex *target, *begin;  // parameters at the end and at the start of the way
  double remaining;               // 1 - t at the candidate
  Soundness elimination;          // the last one

  PM_DEVICE Complex& entry(int vector, int e) { return memory[(vector * PM_SIZE + e) * stride]; }
  static PM_DEVICE bool holds(int) { return true; }
  static PM_DEVICE int index(int e) { return e; }
  static PM_DEVICE bool writes(int) { return true; }
  static PM_DEVICE double over_group(double value) { return value; }

  // What the generated code reads.
  PM_DEVICE Complex input(int e) const { return memory[(kCandidate * PM_SIZE + e) * stride]; }
  PM_DEVICE Complex velocity(int p) const { return target[p] - begin[p]; }
  PM_DEVICE Complex parameter(int p) const {
    const Complex end = target[p];
    return add_scaled(-remaining, end - begin[p], end);
  }
  PM_DEVICE Pair coefficient_pair(int pair) const { return reinterpret_cast<const Pair*>(coefficients)[pair]; }
  PM_DEVICE double coefficient(int index) const { return coefficients[index]; }

  // The factors of the last elimination: 1 / d on the diagonal, the multipliers of L beside it.
  struct Factors {
    Complex upper[kUpper];
  };

  // newton := J^{-1} H at the candidate.
  PM_DEVICE void solve(Factors& factors, Complex (&newton)[PM_SIZE]) {
    PM_GLOBAL(target);
    PM_GLOBAL(begin);
    evaluate(*this, newton, factors.upper);
    factor(factors.upper);
    substitute(factors.upper, newton);
  }
  // slope := J^{-1} dH/dt.
  PM_DEVICE void find_slope(const Factors& factors, Complex (&slope)[PM_SIZE]) const {
    motion(*this, slope);
    substitute(factors.upper, slope);
  }

 private:
  PM_DEVICE void factor(Complex (&upper)[kUpper]) {
    constexpr int last = PM_SIZE - 1;
    Sizes sizes;
    sizes.corner = magnitude_squared(upper[upper_index(last, last)]);
    PM_UNROLL
    for (int k = 0; k < last; ++k) sizes.border = larger(magnitude_squared(upper[upper_index(k, last)]), sizes.border);
    PM_UNROLL
    for (int k = 0; k < PM_SIZE; ++k) {
      const Complex pivot = upper[upper_index(k, k)];
      const double pivot_size = magnitude_squared(pivot);
      const double scale = reciprocal(pivot_size);
      const Complex inverse = {pivot.re * scale, -pivot.im * scale};
      double largest = 0.0;
      PM_UNROLL
      for (int i = k + 1; i < PM_SIZE; ++i) {
        const Complex side = upper[upper_index(k, i)];
        if (i < last) largest = larger(magnitude_squared(side), largest);
        if (i == last) sizes.border_multiplier = largest_or_nan(sizes.border_multiplier, magnitude_squared(side) * scale);
        const Complex multiplier = side * inverse;
        PM_UNROLL
        for (int j = i; j < PM_SIZE; ++j)
          upper[upper_index(i, j)] = multiply_subtract(multiplier, upper[upper_index(k, j)], upper[upper_index(i, j)]);
        upper[upper_index(k, i)] = multiplier;
      }
      upper[upper_index(k, k)] = inverse;
      if (k < last) {
        sizes.largest_pivot = larger(pivot_size, sizes.largest_pivot);
        sizes.smallest_pivot = smaller(pivot_size, sizes.smallest_pivot);
        sizes.multiplier = largest_or_nan(sizes.multiplier, largest * scale);
      } else {
        sizes.last_pivot = pivot_size;
      }
    }
    elimination = judged(sizes);
  }

  PM_DEVICE void substitute(const Complex (&upper)[kUpper], Complex (&side)[PM_SIZE]) const {
    PM_UNROLL
    for (int k = 0; k < PM_SIZE; ++k) {
      PM_UNROLL
      for (int i = k + 1; i < PM_SIZE; ++i) side[i] = multiply_subtract(upper[upper_index(k, i)], side[k], side[i]);
    }
    PM_UNROLL
    for (int k = PM_SIZE - 1; k >= 0; --k) {
      side[k] = side[k] * upper[upper_index(k, k)];
      PM_UNROLL
      for (int i = PM_SIZE - 1; i > k; --i) side[k] = multiply_subtract(upper[upper_index(k, i)], side[i], side[k]);
    }
  }
};
