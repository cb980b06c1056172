// A group of lanes per path, half a warp or a warp: lane a holds row a of the matrix and entry a of every vector.
//
// The last unknown, the multiplier of critical equations, makes a border: A = [[M, g], [g^T, d]]. Gauss-Jordan elimination
// without exchanges on M with the border as one more right side needs no back substitution; then d - g^T M^{-1} g is the
// last pivot. Every lane keeps the last entry of all vectors. So 16 lanes serve 17 unknowns.

constexpr int kInner = PM_SIZE - 1;  // rows of M
constexpr int kEntries = 2;          // of a vector, held by one lane: its own and the last
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
  PM_DEVICE bool holds(int e) const { return e == 1 || lane < kInner; }
  PM_DEVICE int index(int e) const { return e == 1 ? kInner : lane; }
  PM_DEVICE bool writes(int e) const { return e == 1 ? lane == 0 : lane < kInner; }
  static PM_DEVICE double over_group(double value) {
    PM_UNROLL
    for (int distance = PM_GROUP / 2; distance > 0; distance /= 2) value = largest_or_nan(value, from_lane(value, distance));
    return value;
  }

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
    Complex row[kInner], border = {0.0, 0.0};
    newton[0] = slope[0] = border;
    if (lane < kInner) {
      PM_UNROLL
      for (int j = 0; j < kInner; ++j) row[j] = file[kMatrix[j * PM_GROUP + lane]];
      border = file[kMatrix[kInner * PM_GROUP + lane]];
      newton[0] = file[kValues[lane]];
      if (with_slope) slope[0] = file[kMotions[lane]];
    } else {
      PM_UNROLL
      for (int j = 0; j < kInner; ++j) row[j] = {0.0, 0.0};
    }
    const Complex slopes = border;
    eliminate(with_slope, row, newton[0], slope[0], border);
    const Complex corner = file[kCorner] - sum_over_group(slopes * border);
    const Complex inverse = reciprocal(corner);
    compare_pivots(magnitude_squared(corner));
    newton[1] = (file[kValues[kInner]] - sum_over_group(slopes * newton[0])) * inverse;
    newton[0] = multiply_subtract(border, newton[1], newton[0]);
    if (with_slope) {
      slope[1] = (file[kMotions[kInner]] - sum_over_group(slopes * slope[0])) * inverse;
      slope[0] = multiply_subtract(border, slope[1], slope[0]);
    }
    barrier();  // before anyone writes to the file again
  }
  PM_DEVICE void find_slope(const Factors& factors, Complex (&slope)[kEntries]) const {
    slope[0] = factors.slope[0];
    slope[1] = factors.slope[1];
  }

 private:
  PM_DEVICE void place_arguments() {
    if (lane < kInner) file[lane] = vectors[kCandidate][0];
    if (lane == 0) file[kInner] = vectors[kCandidate][1];
    PM_KEEP_LOOP
    for (int p = lane; p < PM_PARAMETERS; p += PM_GROUP) {
      const Complex end = target[p], velocity = end - begin[p];
      file[PM_SIZE + p] = add_scaled(-remaining, velocity, end);
      file[kMotionOfParameters + p] = velocity;
    }
    barrier();
  }

  double largest_pivot, smallest_pivot;

  PM_DEVICE void eliminate(bool with_slope, Complex (&row)[kInner], Complex& newton, Complex& slope, Complex& border) {
    largest_multiplier = 0.0;
    Complex own_inverse = {0.0, 0.0};
    double own_pivot = 1.0;
    PM_UNROLL
    for (int k = 0; k < kInner; ++k) {
      Complex* pivot_row = pivot_rows + (k % 2) * kPivotRow;
      if (lane == k) {
        PM_UNROLL
        for (int j = k; j < kInner; ++j) pivot_row[j] = row[j];
        pivot_row[kInner] = border;
        pivot_row[kInner + 1] = newton;
        if (with_slope) pivot_row[kInner + 2] = slope;
      }
      barrier();
      const Complex pivot = pivot_row[k];
      const double pivot_size = magnitude_squared(pivot);
      const double scale = reciprocal(pivot_size);
      const Complex inverse = {pivot.re * scale, -pivot.im * scale};
      Complex factor = row[k] * inverse;
      // Below the pivot these are the multipliers of L, and so is that of the border's row, which has the border's entry.
      double multiplier = lane > k ? magnitude_squared(factor) : 0.0;
      if (lane == k) {
        own_inverse = inverse;
        own_pivot = pivot_size;
        multiplier = magnitude_squared(border) * scale;
        factor = {0.0, 0.0};
      }
      largest_multiplier = largest_or_nan(largest_multiplier, multiplier);
      PM_UNROLL
      for (int j = k + 1; j < kInner; ++j) row[j] = multiply_subtract(factor, pivot_row[j], row[j]);
      border = multiply_subtract(factor, pivot_row[kInner], border);
      newton = multiply_subtract(factor, pivot_row[kInner + 1], newton);
      if (with_slope) slope = multiply_subtract(factor, pivot_row[kInner + 2], slope);
    }
    border = border * own_inverse;
    newton = newton * own_inverse;
    if (with_slope) slope = slope * own_inverse;
    largest_pivot = lane < kInner ? own_pivot : 0.0;
    smallest_pivot = lane < kInner ? own_pivot : 1e300;
  }

  PM_DEVICE void compare_pivots(double corner) {
    const double largest = over_group(larger(largest_pivot, corner));
    pivot_ratio = largest * over_group(rough_reciprocal(smaller(smallest_pivot, corner)));
    largest_multiplier = over_group(largest_multiplier);
  }
};
