// What the host hands over and gets back; gpu/jobs.py has the same structure, field by field.

constexpr int kUpper = PM_SIZE * (PM_SIZE + 1) / 2;  // entries of half a symmetric matrix
// The vectors of a path.
constexpr int kPoint = 0, kSlope = 1, kPreviousPoint = 2, kPreviousSlope = 3, kCandidate = 4;

// Squares. Without exchanges a small pivot makes large multipliers, which cost up to twice their digits of a Newton step. On the
// way that is no harm as long as some digits are left: the second correction shows what the first one was worth. An end
// counts only if elimination was sound there, multipliers below ten thousand and, as in the CPU core, pivots within a factor of
// 1e10 of each other: otherwise it is singular or unlucky, and exchanges can tell.
constexpr double kUsableMultiplier = 1e14, kSoundMultiplier = 1e8, kLargestPivotRatio = 1e20;

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
