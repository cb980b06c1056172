// A group of lanes per path: lane a holds rows a, a + PM_GROUP, ... of the matrix, PM_ROWS of them, and these entries of vectors.
//
// The last unknown, the multiplier of critical equations, makes a border: A = [[M, g], [g^T, d]]. Gauss-Jordan elimination
// without exchanges on M with the border as one more right side needs no back substitution; then d - g^T M^{-1} g is the
// last pivot. Every lane keeps the last entry of all vectors. A row of a pivot that a lane has read serves all its rows: what
// limits the speed is how much shared memory can deliver, so two rows a lane are faster than one, as long as they fit.

constexpr int kInner = PM_SIZE - 1;        // rows of M
constexpr int kEntries = PM_ROWS + 1;      // of a vector, held by one lane: its own and the last
constexpr int kLast = PM_ROWS;             // which of them is the last
constexpr int kPadded = PM_ROWS * PM_GROUP;
constexpr int kVectors = 5;
constexpr int kPivotRow = kInner + 3;

struct Path {
  Complex vectors[kVectors][kEntries];
  Complex* file;          // the registers of the tape, then the motion of those that move, shared by the group
  Complex* pivot_rows;    // two of them, so that one barrier a pivot suffices
  int lane;
  const double* coefficients;
  const Complex *target, *begin;
  double remaining;
  double largest_multiplier, pivot_ratio;

  PM_DEVICE Complex& entry(int vector, int e) { return vectors[vector][e]; }
  PM_DEVICE int index(int e) const { return e == kLast ? kInner : lane + e * PM_GROUP; }
  PM_DEVICE bool holds(int e) const { return e == kLast || index(e) < kInner; }
  PM_DEVICE bool writes(int e) const { return e == kLast ? lane == 0 : index(e) < kInner; }
  static PM_DEVICE double over_group(double value) { return largest_over_group(value); }

  // Gauss-Jordan leaves no factors: what is to be solved for must be there when it runs.
  struct Factors {
    Complex slope[kEntries];
  };

  // newton := J^{-1} H at the candidate, and if wanted J^{-1} dH/dt for `find_slope`.
  PM_DEVICE void solve(bool with_slope, Factors& factors, Complex (&newton)[kEntries]) {
    Complex(&slope)[kEntries] = factors.slope;
    place_arguments();
    evaluate(file, coefficients, lane);
    if (with_slope) motion(file, coefficients, lane);
    Complex row[PM_ROWS][kInner], border[PM_ROWS], slopes[PM_ROWS];
    PM_UNROLL
    for (int q = 0; q < PM_ROWS; ++q) {
      const int place = index(q);  // beyond the last row tables lead to a zero
      PM_UNROLL
      for (int j = 0; j < kInner; ++j) row[q][j] = file[kMatrix[j * kPadded + place]];
      slopes[q] = border[q] = file[kMatrix[kInner * kPadded + place]];
      newton[q] = file[kValues[place]];
      slope[q] = with_slope ? file[kMotions[place]] : Complex{0.0, 0.0};
    }
    eliminate(with_slope, row, newton, slope, border);
    const Complex corner = file[kCorner] - inner_product(slopes, border);
    const Complex inverse = reciprocal(corner);
    compare_pivots(magnitude_squared(corner));
    newton[kLast] = (file[kLastValue] - inner_product(slopes, newton)) * inverse;
    if (with_slope) slope[kLast] = (file[kLastMotion] - inner_product(slopes, slope)) * inverse;
    PM_UNROLL
    for (int q = 0; q < PM_ROWS; ++q) {
      newton[q] = multiply_subtract(border[q], newton[kLast], newton[q]);
      if (with_slope) slope[q] = multiply_subtract(border[q], slope[kLast], slope[q]);
    }
    barrier();  // before anyone writes to the file again
  }
  PM_DEVICE void find_slope(const Factors& factors, Complex (&slope)[kEntries]) const {
    PM_UNROLL
    for (int e = 0; e < kEntries; ++e) slope[e] = factors.slope[e];
  }

 private:
  double largest_pivot, smallest_pivot;

  PM_DEVICE void place_arguments() {
    PM_UNROLL
    for (int e = 0; e < kEntries; ++e)
      if (writes(e)) file[index(e)] = vectors[kCandidate][e];
    PM_KEEP_LOOP
    for (int p = lane; p < PM_PARAMETERS; p += PM_GROUP) {
      const Complex end = target[p], velocity = end - begin[p];
      file[PM_SIZE + p] = add_scaled(-remaining, velocity, end);
      file[kMotionOfParameters + p] = velocity;
    }
    barrier();
  }

  template <int Length> static PM_DEVICE Complex inner_product(const Complex (&left)[PM_ROWS], const Complex (&right)[Length]) {
    Complex sum = left[0] * right[0];
    PM_UNROLL
    for (int q = 1; q < PM_ROWS; ++q) sum = multiply_add(left[q], right[q], sum);
    return sum_over_group(sum);
  }

  PM_DEVICE void eliminate(bool with_slope, Complex (&row)[PM_ROWS][kInner], Complex (&newton)[kEntries],
                           Complex (&slope)[kEntries], Complex (&border)[PM_ROWS]) {
    largest_multiplier = largest_pivot = 0.0;
    smallest_pivot = 1e300;
    Complex own_inverse[PM_ROWS];
    PM_UNROLL
    for (int q = 0; q < PM_ROWS; ++q) own_inverse[q] = {0.0, 0.0};
    PM_UNROLL
    for (int k = 0; k < kInner; ++k) {
      const int owner = k % PM_GROUP, slot = k / PM_GROUP;
      Complex* pivot_row = pivot_rows + (k % 2) * kPivotRow;
      if (lane == owner) {
        PM_UNROLL
        for (int j = k; j < kInner; ++j) pivot_row[j] = row[slot][j];
        pivot_row[kInner] = border[slot];
        pivot_row[kInner + 1] = newton[slot];
        if (with_slope) pivot_row[kInner + 2] = slope[slot];
      }
      barrier();
      const Complex pivot = pivot_row[k], side = pivot_row[kInner];
      const double pivot_size = magnitude_squared(pivot);
      const double scale = reciprocal(pivot_size);
      const Complex inverse = {pivot.re * scale, -pivot.im * scale};
      Complex factor[PM_ROWS];
      PM_UNROLL
      for (int q = 0; q < PM_ROWS; ++q) {
        factor[q] = row[q][k] * inverse;
        // Below the pivot these are the multipliers of L; that of the border's row is found in the pivot's.
        if (index(q) > k) largest_multiplier = largest_or_nan(largest_multiplier, magnitude_squared(factor[q]));
      }
      largest_multiplier = largest_or_nan(largest_multiplier, magnitude_squared(side) * scale);
      largest_pivot = larger(largest_pivot, pivot_size);
      smallest_pivot = smaller(smallest_pivot, pivot_size);
      if (lane == owner) {
        own_inverse[slot] = inverse;
        factor[slot] = {0.0, 0.0};
      }
      PM_UNROLL
      for (int j = k + 1; j < kInner; ++j) {
        const Complex entry = pivot_row[j];
        PM_UNROLL
        for (int q = 0; q < PM_ROWS; ++q) row[q][j] = multiply_subtract(factor[q], entry, row[q][j]);
      }
      const Complex first = pivot_row[kInner + 1];
      PM_UNROLL
      for (int q = 0; q < PM_ROWS; ++q) {
        border[q] = multiply_subtract(factor[q], side, border[q]);
        newton[q] = multiply_subtract(factor[q], first, newton[q]);
      }
      if (with_slope) {
        const Complex second = pivot_row[kInner + 2];
        PM_UNROLL
        for (int q = 0; q < PM_ROWS; ++q) slope[q] = multiply_subtract(factor[q], second, slope[q]);
      }
    }
    PM_UNROLL
    for (int q = 0; q < PM_ROWS; ++q) {
      border[q] = border[q] * own_inverse[q];
      newton[q] = newton[q] * own_inverse[q];
      if (with_slope) slope[q] = slope[q] * own_inverse[q];
    }
  }

  PM_DEVICE void compare_pivots(double corner) {
    // Every lane has seen all pivots.
    pivot_ratio = larger(largest_pivot, corner) * rough_reciprocal(smaller(smallest_pivot, corner));
    largest_multiplier = over_group(largest_multiplier);
  }
};
