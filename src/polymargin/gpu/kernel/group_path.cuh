// A group of lanes per path: lane a holds rows a, a + PM_GROUP, ... of the matrix, PM_ROWS of them, and these entries of vectors.
//
// The last unknown, the multiplier of critical equations, makes a border: A = [[M, g], [g^T, d]]. M = L D L^T without exchanges,
// of which the lanes hold the lower half: in slot q, columns up to the last row that is in slot q for some lane. A column is
// what the group shares: each lane writes its entries, one barrier, and everybody reads them. Columns stay where they are
// for the substitution back. The next column is written before the rest of the matrix has been updated, so that its pivot's
// reciprocal is found meanwhile: the chain of pivots, not arithmetic, is what takes the time.

constexpr int kInner = PM_SIZE - 1;    // rows of M
constexpr int kEntries = PM_ROWS + 1;  // of a vector, held by one lane: its own and the last
constexpr int kLast = PM_ROWS;         // which of them is the last
constexpr int kVectors = 5;
constexpr int kSides = 3;  // forward, what is solved for: the border, the Newton step, the slope
PM_DEVICE constexpr int columns_before(int slot, int k) {
  return k * (kInner - slot * PM_GROUP) + PM_GROUP * PM_GROUP * slot * (slot + 1) / 2;
}
constexpr int kColumns = columns_before((kInner - 1) / PM_GROUP, kInner);
constexpr int kBorderSide = 0, kNewtonSide = 1, kSlopeSide = 2;

struct Path {
  Complex vectors[kVectors][kEntries];
  Complex* file;  // the registers of the tape, then the columns of the elimination, shared by the group
  int lane;
  const double* coefficients;
  const Complex *target, *begin;
  double remaining;
  double largest_multiplier;  // in this lane's rows of M, squared
  Soundness elimination;

  PM_DEVICE Complex& entry(int vector, int e) { return vectors[vector][e]; }
  PM_DEVICE int index(int e) const { return e == kLast ? kInner : lane + e * PM_GROUP; }
  PM_DEVICE bool holds(int e) const { return e == kLast || index(e) < kInner; }
  PM_DEVICE bool writes(int e) const { return e == kLast ? lane == 0 : index(e) < kInner; }
  static PM_DEVICE double over_group(double value) { return largest_over_group(value); }

  // What is to be solved for must be there when the elimination runs, so the slope comes with every Newton step.
  struct Factors {
    Complex slope[kEntries];
  };

  // newton := J^{-1} H at the candidate, and J^{-1} dH/dt for `find_slope`.
  PM_DEVICE void solve(Factors& factors, Complex (&newton)[kEntries]) {
    PM_GLOBAL(coefficients);
    PM_GLOBAL(target);
    PM_GLOBAL(begin);
    place_arguments();
    evaluate(file, coefficients, lane);
    Complex row[kHeld], side[kSides][PM_ROWS], inverse[PM_ROWS];
    PM_UNROLL
    for (int q = 0; q < PM_ROWS; ++q) {
      const int place = index(q);  // beyond the last row tables lead to a zero
      side[kBorderSide][q] = file[kBorder[place]];
      side[kNewtonSide][q] = file[kValues[place]];
      side[kSlopeSide][q] = file[kMotions[place]];
      inverse[q] = {0.0, 0.0};
    }
    const Complex last[kSides] = {file[kCorner], file[kLastValue], file[kLastMotion]};
    Sizes sizes;
    sizes.corner = magnitude_squared(last[kBorderSide]);
    PM_UNROLL
    for (int q = 0; q < PM_ROWS; ++q) sizes.border = larger(magnitude_squared(side[kBorderSide][q]), sizes.border);
    matrix(file, coefficients, lane, row);
    barrier();  // everybody has read what the columns replace
    eliminate(row, side, inverse);
    // The border's row of L, its pivot, and the last unknown.
    Complex border[PM_ROWS];
    PM_UNROLL
    for (int q = 0; q < PM_ROWS; ++q) border[q] = side[kBorderSide][q] * inverse[q];
    const Complex corner = last[kBorderSide] - inner_product(border, side[kBorderSide]);
    const Complex corner_inverse = reciprocal(corner);
    sizes.last_pivot = magnitude_squared(corner);
    elimination = judged(over_group(sizes, border, inverse));
    newton[kLast] = (last[kNewtonSide] - inner_product(border, side[kNewtonSide])) * corner_inverse;
    factors.slope[kLast] = (last[kSlopeSide] - inner_product(border, side[kSlopeSide])) * corner_inverse;
    PM_UNROLL
    for (int q = 0; q < PM_ROWS; ++q) {
      newton[q] = multiply_subtract(side[kBorderSide][q], newton[kLast], side[kNewtonSide][q]);
      factors.slope[q] = multiply_subtract(side[kBorderSide][q], factors.slope[kLast], side[kSlopeSide][q]);
    }
    substitute_back(inverse, newton, factors.slope);
    barrier();  // before anyone writes to the file again
  }
  PM_DEVICE void find_slope(const Factors& factors, Complex (&slope)[kEntries]) const {
    PM_UNROLL
    for (int e = 0; e < kEntries; ++e) slope[e] = factors.slope[e];
  }

 private:
  // Where column k is, whose pivot is in this slot, such that the entry of row i is at column(slot, k)[i]: it begins with the first
  // row of the slot. And the right sides of row k.
  PM_DEVICE Complex* column(int slot, int k) const { return file + kScratch + columns_before(slot, k) - slot * PM_GROUP; }
  PM_DEVICE Complex* sides_of(int k) const { return file + kScratch + kColumns + kSides * k; }

  PM_DEVICE void place_arguments() {
    PM_UNROLL
    for (int e = 0; e < kEntries; ++e)
      if (writes(e)) file[kInputs + index(e)] = vectors[kCandidate][e];
    PM_KEEP_LOOP
    for (int p = lane; p < PM_PARAMETERS; p += PM_GROUP) {
      const Complex end = target[p], velocity = end - begin[p];
      file[kParameters + p] = add_scaled(-remaining, velocity, end);
      file[kMotionOfParameters + p] = velocity;
    }
    barrier();
  }

  static PM_DEVICE Complex inner_product(const Complex (&left)[PM_ROWS], const Complex (&right)[PM_ROWS]) {
    Complex sum = left[0] * right[0];
    PM_UNROLL
    for (int q = 1; q < PM_ROWS; ++q) sum = multiply_add(left[q], right[q], sum);
    return sum_over_group(sum);
  }

  // Everybody's entries of column k, and the right sides of its owner.
  PM_DEVICE void publish(int k, const Complex (&row)[kHeld], const Complex (&side)[kSides][PM_ROWS]) {
    PM_UNROLL
    for (int q = k / PM_GROUP; q < PM_ROWS; ++q)
      if (index(q) < kInner) column(k / PM_GROUP, k)[index(q)] = row[held(q, k)];
    if (lane == k % PM_GROUP) {
      PM_UNROLL
      for (int s = 0; s < kSides; ++s) sides_of(k)[s] = side[s][k / PM_GROUP];
    }
  }

  PM_DEVICE void eliminate(Complex (&row)[kHeld], Complex (&side)[kSides][PM_ROWS], Complex (&inverse)[PM_ROWS]) {
    largest_multiplier = 0.0;
    publish(0, row, side);
    barrier();
    Complex pivot_inverse = reciprocal(column(0, 0)[0]);
    PM_UNROLL
    for (int k = 0; k < kInner; ++k) {
      const int slot = k / PM_GROUP;
      if (lane == k % PM_GROUP) inverse[slot] = pivot_inverse;
      if (k + 1 == kInner) break;
      Complex factor[PM_ROWS];
      PM_UNROLL
      for (int q = slot; q < PM_ROWS; ++q) {
        factor[q] = row[held(q, k)] * pivot_inverse;
        if (q == slot && index(q) <= k) factor[q] = {0.0, 0.0};  // done already
        largest_multiplier = largest_or_nan(largest_multiplier, magnitude_squared(factor[q]));
      }
      const Complex next = column(slot, k)[k + 1];
      PM_UNROLL
      for (int q = (k + 1) / PM_GROUP; q < PM_ROWS; ++q)
        row[held(q, k + 1)] = multiply_subtract(factor[q], next, row[held(q, k + 1)]);
      PM_UNROLL
      for (int s = 0; s < kSides; ++s) {
        const Complex entry = sides_of(k)[s];
        PM_UNROLL
        for (int q = slot; q < PM_ROWS; ++q) side[s][q] = multiply_subtract(factor[q], entry, side[s][q]);
      }
      publish(k + 1, row, side);
      barrier();
      pivot_inverse = reciprocal(column((k + 1) / PM_GROUP, k + 1)[k + 1]);
      PM_UNROLL
      for (int j = k + 2; j < kInner; ++j) {
        const Complex entry = column(slot, k)[j];
        PM_UNROLL
        for (int q = j / PM_GROUP; q < PM_ROWS; ++q) row[held(q, j)] = multiply_subtract(factor[q], entry, row[held(q, j)]);
      }
    }
  }

  // x_k = (side_k - sum over i > k of A_ik x_i) / d_k, with the columns as they were shared: before their division by the pivot.
  PM_DEVICE void substitute_back(const Complex (&inverse)[PM_ROWS], Complex (&newton)[kEntries], Complex (&slope)[kEntries]) {
    PM_UNROLL
    for (int i = kInner - 1; i > 0; --i) {
      const int slot = i / PM_GROUP;
      const Complex mine = newton[slot] * inverse[slot], my_slope = slope[slot] * inverse[slot];
      if (lane == i % PM_GROUP) {
        sides_of(i)[kNewtonSide] = mine;
        sides_of(i)[kSlopeSide] = my_slope;
      }
      barrier();
      const Complex first = sides_of(i)[kNewtonSide], second = sides_of(i)[kSlopeSide];
      PM_UNROLL
      for (int q = 0; q <= slot; ++q) {
        const bool above = q < slot || index(q) < i;
        const Complex entry = column(q, above ? index(q) : i)[i];
        const Complex changed = multiply_subtract(entry, first, newton[q]), bent = multiply_subtract(entry, second, slope[q]);
        newton[q] = above ? changed : newton[q];
        slope[q] = above ? bent : slope[q];
      }
    }
    PM_UNROLL
    for (int q = 0; q < PM_ROWS; ++q) {
      newton[q] = newton[q] * inverse[q];
      slope[q] = slope[q] * inverse[q];
    }
  }

  // Each lane knows the pivots and the multipliers of its rows, and its entries of the border.
  PM_DEVICE Sizes over_group(Sizes sizes, const Complex (&border)[PM_ROWS], const Complex (&inverse)[PM_ROWS]) const {
    double smallest = 0.0;  // the pivots' reciprocals, squared
    PM_UNROLL
    for (int q = 0; q < PM_ROWS; ++q) {
      const double size = magnitude_squared(inverse[q]);
      sizes.border_multiplier = largest_or_nan(sizes.border_multiplier, magnitude_squared(border[q]));
      smallest = largest_or_nan(smallest, size);
      if (index(q) < kInner) sizes.largest_pivot = largest_or_nan(sizes.largest_pivot, rough_reciprocal(size));
    }
    sizes.multiplier = over_group(largest_multiplier);
    sizes.border_multiplier = over_group(sizes.border_multiplier);
    sizes.border = over_group(sizes.border);
    sizes.largest_pivot = over_group(sizes.largest_pivot);
    sizes.smallest_pivot = rough_reciprocal(over_group(smallest));
    return sizes;
  }
};
