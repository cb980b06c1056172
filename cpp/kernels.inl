// The kernels of one instruction set. Included by kernels_*.cpp after PM_ISA and PM_LANES are set.
//
// Only built-in functions and our own templates are used here: a standard-library function instantiated
// with these compiler flags could be picked by the linker for the whole module.
#include "nearest.hpp"
#include "tracker.hpp"

namespace PM_ISA {

using polymargin::Kernels;

template <class Real>
void evaluate_points(const Program& program, const double* inputs, const double* parameters, std::int64_t points,
                     double* values, double* jacobians, void* memory) {
  Pack<Real> pack(program, memory);
  const int n = program.inputs;
  for (int lane = 0; lane < kLanes; ++lane) load_lane(pack.registers + n, lane, parameters, program.parameters);
  for (std::int64_t first = 0; first < points; first += kLanes) {
    const std::int64_t count = points - first < kLanes ? points - first : kLanes;
    for (int lane = 0; lane < kLanes; ++lane)
      load_lane(pack.registers, lane, inputs + 2 * (lane < count ? first + lane : first) * n, n);
    run(program, pack.registers);
    for (int lane = 0; lane < count; ++lane) {
      for (int i = 0; i < n; ++i)
        store_lane(pack.registers + program.value_registers[i], lane, values + 2 * ((first + lane) * n + i), 1);
      for (int e = 0; e < n * n; ++e) {
        const int source = program.jacobian_registers[e];
        const Complex<Real> entry = source < 0 ? zero<Real>() : pack.registers[source];
        store_lane(&entry, lane, jacobians + 2 * ((first + lane) * n * n + e), 1);
      }
    }
  }
}

inline std::int64_t workspace_bytes(const Program& program, bool double_double) {
  return double_double ? Pack<DoubleDouble>::bytes(program) : Pack<Lanes>::bytes(program);
}

inline void track(const TrackJob& job, void* memory, bool double_double) {
  if (double_double)
    Tracker<DoubleDouble>(job, memory).run_all();
  else
    Tracker<Lanes>(job, memory).run_all();
}

inline void evaluate(const Program& program, const double* inputs, const double* parameters, std::int64_t points,
                     double* values, double* jacobians, void* memory, bool double_double) {
  if (double_double)
    evaluate_points<DoubleDouble>(program, inputs, parameters, points, values, jacobians, memory);
  else
    evaluate_points<Lanes>(program, inputs, parameters, points, values, jacobians, memory);
}

inline std::int64_t quadric_bytes(const Quadric& quadric) { return NearestRows::bytes(quadric); }

inline void nearest(const NearestJob& job, void* memory) { NearestRows(job, memory).solve_all(); }

inline void product(const double* rows, std::int64_t count, std::int64_t length, const double* matrix, std::int64_t width, double* out) {
  for (std::int64_t first = 0; first < count; first += kGroup) {
    const int here = count - first < kGroup ? static_cast<int>(count - first) : kGroup;
    const double* in[kGroup] = {};
    double* to[kGroup] = {};
    for (int r = 0; r < here; ++r) {
      in[r] = rows + (first + r) * length;
      to[r] = out + (first + r) * width;
    }
    multiply(here, in, length, matrix, width, nullptr, to);
  }
}

inline void view(const Quadric& quadric, const double* points, std::int64_t rows, double* values, double* gradients, void* memory) {
  QuadricViews(quadric, memory).see_all(points, rows, values, gradients);
}

inline const Kernels& table(const char* name) {
  static const Kernels kernels{name, kLanes, workspace_bytes, track, evaluate, quadric_bytes, nearest, product, view};
  return kernels;
}

}  // namespace PM_ISA
