// What the host hands over and gets back; gpu/jobs.py has the same structure, field by field.

constexpr int kUpper = PM_SIZE * (PM_SIZE + 1) / 2;  // entries of half a symmetric matrix
// The vectors of a path.
constexpr int kPoint = 0, kSlope = 1, kPreviousPoint = 2, kPreviousSlope = 3, kCandidate = 4;

// Squares. Without exchanges a small pivot makes large multipliers, which cost up to twice their digits of a Newton step. On the
// way that is no harm as long as some digits are left: the second correction shows what the first one was worth. An end
// counts only if elimination was sound there, multipliers below ten thousand and, as in the CPU core, pivots within a factor of
// 1e10 of each other: otherwise it is singular or unlucky, and exchanges can tell.
constexpr double kUsableMultiplier = 1e14, kSoundMultiplier = 1e8, kLargestPivotRatio = 1e20;

// The last unknown of critical equations is a multiplier, with a zero on the diagonal; its unit is that of 1/B, and B may have any
// size. Elimination commutes with a change of units: were the last row and column s times as large, the border's multipliers
// would be too, and the last pivot s^2 times as large. So the border is judged in units that make the last pivot as large as the
// smallest of the others. If that pivot is small because its terms cancel, s and the multipliers are large. All sizes are squares.
struct Sizes {
  double border = 0.0, corner = 0.0;  // the largest entry of the border before elimination, and the last one of the diagonal
  double multiplier = 0.0, border_multiplier = 0.0, largest_pivot = 0.0, smallest_pivot = 1e300, last_pivot = 0.0;
};
struct Soundness {
  double largest_multiplier, pivot_ratio;
  double condition;  // of the matrix as it is, for whoever asks whether an end is nearly singular
};
PM_DEVICE double ratio_with(const Sizes& sizes, double last_pivot) {
  return larger(sizes.largest_pivot, last_pivot) * rough_reciprocal(smaller(sizes.smallest_pivot, last_pivot));
}
PM_DEVICE Soundness judged(const Sizes& sizes) {
  const double as_it_is = ratio_with(sizes, sizes.last_pivot);
  if (sizes.corner != 0.0) return {largest_or_nan(sizes.multiplier, sizes.border_multiplier), as_it_is, as_it_is};
  const double balanced = rough_root(sizes.smallest_pivot * rough_reciprocal(sizes.last_pivot));
  const double inner = sizes.largest_pivot * rough_reciprocal(sizes.smallest_pivot);
  // With a border as large as the largest pivot, and what the change of units may cost.
  const double unit = sizes.largest_pivot * rough_reciprocal(sizes.border);
  const double in_units = ratio_with(sizes, sizes.last_pivot * unit * unit) * larger(unit, rough_reciprocal(unit));
  return {largest_or_nan(sizes.multiplier, sizes.border_multiplier * balanced), inner, smaller(as_it_is, in_units)};
}

// How a path ended: the codes of the CPU core, and one more for what needs exchanges of rows.
constexpr int kGoesOn = -1, kConverged = 0, kStartRejected = 1, kStepTooSmall = 2, kTooManySteps = 3, kDiverged = 4,
              kEndNotRegular = 5, kNeedsExchanges = 100;

// Path p runs from starts[p % start_count] at the parameters begin to targets[p / start_count]. The paths to follow are
// selected[0], ..., selected[path_count - 1], or 0, ..., path_count - 1 if nothing is selected.
struct Job {
  const double* coefficients;
  const Complex *begin, *targets, *starts;
  Complex* points;
  int *ends, *steps, *rejections;
  double *remaining, *correction, *condition;
  const unsigned* selected;
  unsigned* next;  // the queue: the first path that nobody has taken
  // Numbers of the paths that the CPU core has to follow again, in any order, and how many; null if nobody asks.
  unsigned *left, *left_count;
  unsigned start_count, path_count;
  double contraction, largest_correction, change, accuracy, final_accuracy, smallest_step, infinity;
  int most_steps;
};
