// The interpreter's side of kernel.py: evaluate and solve with the core's own headers, for one instruction set.
// Compiled with PM_ISA, PM_LANES and the flags that CMakeLists.txt has for it; no part of the package.
#include "../cpp/program.hpp"
#include "../cpp/tracker.hpp"

using polymargin::Instruction;
using polymargin::OwnedProgram;
using polymargin::ProgramArrays;

namespace {

template <class T> std::vector<T> copy(const T* data, long count) { return std::vector<T>(data, data + count); }

}  // namespace

// sizes: inputs, parameters, registers, value_code, and the lengths of code, arguments, coefficients and constants.
extern "C" void* new_program(const long* sizes, const Instruction* code, const std::int32_t* arguments,
                             const double* coefficient_hi, const double* coefficient_lo, const double* constant_hi,
                             const double* constant_lo, const std::int32_t* values, const std::int32_t* jacobian) {
  ProgramArrays arrays;
  arrays.inputs = static_cast<std::int32_t>(sizes[0]);
  arrays.parameters = static_cast<std::int32_t>(sizes[1]);
  arrays.registers = static_cast<std::int32_t>(sizes[2]);
  arrays.value_code = static_cast<std::int32_t>(sizes[3]);
  arrays.code = copy(code, sizes[4]);
  arrays.arguments = copy(arguments, sizes[5]);
  arrays.coefficient_hi = copy(coefficient_hi, sizes[6]);
  arrays.coefficient_lo = copy(coefficient_lo, sizes[6]);
  arrays.constant_hi = copy(constant_hi, sizes[7]);
  arrays.constant_lo = copy(constant_lo, sizes[7]);
  arrays.value_registers = copy(values, sizes[0]);
  arrays.jacobian_registers = copy(jacobian, sizes[0] * sizes[0]);
  return new OwnedProgram(std::move(arrays));
}

// `rounds` times for a pack of points: evaluate, factor, solve, and move by a billionth of the step.
extern "C" void evaluate_and_solve(const OwnedProgram* owned, const double* inputs, const double* parameters, long rounds,
                                   double* steps) {
  using namespace PM_ISA;
  const Program& program = owned->get();
  const int n = program.inputs;
  std::vector<char> memory(Pack<Lanes>::bytes(program) + 64);
  void* aligned = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
  Pack<Lanes> pack(program, aligned);
  for (int lane = 0; lane < kLanes; ++lane) {
    load_lane(pack.candidate, lane, inputs + 2 * lane * n, n);
    load_lane(pack.target, lane, parameters, program.parameters);
  }
  for (long round = 0; round < rounds; ++round) {
    pack.place_parameters(broadcast(0.0));
    pack.solve_newton(every_lane());
    for (int i = 0; i < n; ++i) {
      pack.step[i] = -pack.step[i];
      pack.candidate[i].re = fused(pack.step[i].re, broadcast(1e-9), pack.candidate[i].re);
      pack.candidate[i].im = fused(pack.step[i].im, broadcast(1e-9), pack.candidate[i].im);
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) store_lane(pack.step, lane, steps + 2 * lane * n, n);
}
