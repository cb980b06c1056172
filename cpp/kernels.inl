// The kernels of one instruction set. Included by kernels_*.cpp after PM_ISA and PM_LANES are set.
//
// Only built-in functions and our own templates are used here: a standard-library function instantiated
// with these compiler flags could be picked by the linker for the whole module.
#include "tracker.hpp"

namespace PM_ISA {

using polymargin::Kernels;

template <class Real> void load_pack(Pack<Real>& pack, const double* inputs, const double* parameters, std::int64_t count) {
  const int n = pack.size, m = pack.program.parameters;
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::int64_t source = lane < count ? lane : 0;
    for (int i = 0; i < n; ++i) {
      set_lane(pack.point[i].re, lane, inputs[2 * (source * n + i)]);
      set_lane(pack.point[i].im, lane, inputs[2 * (source * n + i) + 1]);
    }
    for (int p = 0; p < m; ++p) {
      set_lane(pack.target[p].re, lane, parameters[2 * p]);
      set_lane(pack.target[p].im, lane, parameters[2 * p + 1]);
    }
  }
}

template <class Real> void store_lane(const Complex<Real>& number, int lane, double* place) {
  place[0] = get_lane(number.re, lane);
  place[1] = get_lane(number.im, lane);
}

template <class Real>
void evaluate_points(const Program& program, const double* inputs, const double* parameters, std::int64_t points,
                     double* values, double* jacobians, void* memory) {
  Pack<Real> pack(program, memory);
  const int n = program.inputs;
  for (std::int64_t first = 0; first < points; first += kLanes) {
    const std::int64_t count = points - first < kLanes ? points - first : kLanes;
    load_pack(pack, inputs + 2 * first * n, parameters, count);
    pack.place(pack.point, broadcast(0.0));
    run(program, program.code_length, pack.registers, 0);
    for (int lane = 0; lane < count; ++lane) {
      for (int i = 0; i < n; ++i)
        store_lane(pack.registers[program.value_registers[i]], lane, values + 2 * ((first + lane) * n + i));
      for (int e = 0; e < n * n; ++e) {
        const int source = program.jacobian_registers[e];
        const Complex<Real> entry = source < 0 ? zero<Real>() : pack.registers[source];
        store_lane(entry, lane, jacobians + 2 * ((first + lane) * n * n + e));
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

inline void evaluate_and_solve(const Program& program, const double* inputs, const double* parameters, std::int64_t rounds,
                               double* solutions, void* memory) {
  Pack<Lanes> pack(program, memory);
  load_pack(pack, inputs, parameters, kLanes);
  for (std::int64_t round = 0; round < rounds; ++round) {
    pack.place(pack.point, broadcast(0.0));
    pack.evaluate_and_factor();
    pack.solve_order(0, pack.step);
    // A step too short to change much, long enough that no round can be skipped.
    for (int i = 0; i < pack.size; ++i) {
      pack.point[i].re = fused(pack.step[i].re, broadcast(1e-9), pack.point[i].re);
      pack.point[i].im = fused(pack.step[i].im, broadcast(1e-9), pack.point[i].im);
    }
  }
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < pack.size; ++i) store_lane(pack.step[i], lane, solutions + 2 * (lane * pack.size + i));
}

inline const Kernels& table(const char* name) {
  static const Kernels kernels{name, kLanes, workspace_bytes, track, evaluate, evaluate_and_solve};
  return kernels;
}

}  // namespace PM_ISA
