// What the bindings hand to a kernel and get back: plain data, the same for every instruction set.
//
// A Program is a straight-line program with four instructions. Registers hold, in this order, the
// inputs, the parameters, the constants and one value per result. `value_code` instructions compute
// the system H; the remaining ones its Jacobian, so H alone is a prefix of H and its Jacobian. `motion`
// is the part of the value code that sees the parameters, for the derivative of H along them.
#pragma once

#include <atomic>
#include <cstdint>

namespace polymargin {

enum class Operation : std::int32_t { linear = 0, single_rows = 1, product = 2, square = 3 };

// Rows are results in consecutive registers, none of which is an argument of the same instruction. Arguments are registers,
// found from an offset into Program::arguments on, column by column as the coefficients are:
//   linear       target[r] = bias[r] + sum_c matrix[r][c] * arguments[c]
//   single_rows  target[r] = bias[r] + sum_c matrix[r][c] * arguments[c][r]
//   product      target[r] = arguments[0][r] * arguments[1][r]
//   square       target[r] = arguments[0][r]^2
struct Instruction {
  Operation operation;
  std::int32_t target;        // first register written
  std::int32_t rows, columns; // columns: of linear and single_rows only
  std::int32_t arguments;
  std::int32_t coefficients;  // offset of the rows biases, then of the matrix, column by column
};

struct Program {
  std::int32_t inputs, parameters, constants, registers;
  std::int32_t code_length, value_code, motion_length;
  bool symmetric;                          // the Jacobian is, entry by entry the same registers
  const Instruction *code, *motion;
  const std::int32_t* arguments;
  const double *coefficient_hi, *coefficient_lo;  // lo: what double-doubles see beyond a double
  const double *constant_hi, *constant_lo;
  const std::int32_t* value_registers;     // inputs many: H
  const std::int32_t* jacobian_registers;  // inputs * inputs many, row by row; < 0 is a plain zero
};

struct TrackerSettings {
  double contraction;       // largest accepted Newton contraction |d1| / |d0| after a prediction
  double correction;        // largest accepted first Newton correction, relative to the point
  double change;            // largest change of a coordinate in one step, relative to it
  double accuracy;          // relative accuracy asked of a point on the path
  double final_accuracy;    // and of the end point
  double smallest_step;     // relative to the remaining way
  double infinity;          // a point this large counts as diverged
  std::int32_t most_steps;
};

enum class PathEnd : std::int32_t {
  converged = 0,
  start_rejected = 1,
  step_too_small = 2,
  too_many_steps = 3,
  diverged = 4,
  end_not_regular = 5,
};

// Path p runs from start_points[p % starts] at start_parameters to target_parameters[p / starts].
// Complex arrays are interleaved (re, im).
struct TrackJob {
  const Program* program;
  const double* start_parameters;
  const double* target_parameters;
  const double* start_points;
  std::int64_t starts;
  TrackerSettings settings;
  const std::int64_t* selected;  // the paths to follow; null means all of them
  std::int64_t selected_count;
  // Where paths go on that stopped before, starts * targets * inputs complex, and 1 - t there; null means at the starts.
  const double *stopped_points, *stopped_remaining;
  double* points;                // starts * targets * inputs complex
  std::int32_t *ends, *steps, *rejections;
  double *remaining;             // 1 - t where the path stopped
  double *correction;            // size of the last Newton correction, relative
  double *condition;             // ratio of the largest to the smallest pivot at the end
  std::atomic<std::int64_t>* next;
};

// What the nearest point of a quadric is; the numbers are those of polymargin.quadric.NearestKind.
enum class NearestKind : std::int8_t { regular = 0, sphere = 1, singular = 2, empty = 3, on_boundary = 4 };

// One quadric with `size` eigenvalues, as polymargin/quadric/spectrum.py has it. Matrices have a row for every number that goes in,
// padded with zeros to a multiple of kPadding; so are vectors.
//   a sum of squares   B = sum_j y_j (bends_j y_j + slopes_j) + constant, y = weights x + bias; its gradient is map (2 bends y + slopes)
//   a form             B = sum_i x_i (y_i + slopes_i) + constant, y = weights x; its gradient is 2 eigenvalues (map x) + bias
// The terms that B is summed from are at most as large as sizes[0] |x|^2 + sizes[1] |x| + sizes[2], those of its gradient as the derivative.
constexpr std::int64_t kPadding = 8;
struct Quadric {
  std::int64_t inputs, hidden, size;
  const double *weights, *bias, *bends, *slopes;  // bends: null for a form
  double constant;
  const double *map, *eigenvalues, *sizes;
};

// Nearest points of a quadric to `rows` chosen ones of the points, and what is thought of them.
struct NearestJob {
  Quadric quadric;
  std::int64_t rows;
  const double* points;
  const std::int64_t* chosen;
  const double *rotation, *basis;  // from the eigenbasis to the points, in one step or two; the second may be null
  const double* fixed;             // slopes that are known without a point; NaN: computed
  double least;                    // the value of B at its critical points; read where the matrix is semidefinite
  double tolerance;                // error of the eigenvalues
  double cluster_tolerance;        // those closer than this are equal
  double touch_tolerance;          // relative to the size of the terms: a critical value below is zero
  double noise;                    // relative to the size of the terms: a value or a slope below is zero
  double largest_doubt, largest_correction, largest_miss;
  std::int8_t *kinds, *doubtful;
  double *multipliers, *distances, *steps;
};

struct Kernels {
  const char* name;
  int lanes;
  std::int64_t (*workspace_bytes)(const Program&, bool double_double);
  void (*track)(const TrackJob&, void* workspace, bool double_double);
  void (*evaluate)(const Program&, const double* inputs, const double* parameters, std::int64_t points,
                   double* values, double* jacobians, void* workspace, bool double_double);
  std::int64_t (*quadric_bytes)(const Quadric&);
  void (*nearest)(const NearestJob&, void* workspace);
  // rows (count, length) times a padded matrix (length, width), each by itself
  void (*product)(const double* rows, std::int64_t count, std::int64_t length, const double* matrix, std::int64_t width, double* out);
  void (*view)(const Quadric&, const double* points, std::int64_t rows, double* values, double* gradients, void* workspace);
};

const Kernels& baseline_kernels();
#if defined(__x86_64__)
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
#endif

}  // namespace polymargin
