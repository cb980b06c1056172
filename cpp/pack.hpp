// Pack: the working memory for kLanes paths that move together, and the system they move on.
//
// The homotopy is H(x, p(s)) with parameters on a segment, p(s) = target - s * velocity, where
// s = 1 - t runs from 1 down to 0. Counting the way that is left keeps full relative precision near
// the end, where it matters. A blend of two systems is the special case in which the two weights are
// parameters.
#pragma once

#include "jacobian_solver.hpp"

namespace PM_ISA {

template <class Real> struct Pack {
  using Number = Complex<Real>;

  const Program& program;
  const int size;
  Number* registers;
  Number *point, *slope;                     // where the paths are, and dx/ds there
  Number *previous_point, *previous_slope;   // where they were one step before
  Number *candidate, *candidate_slope;       // where they may be next; the candidate lies in the registers of the inputs
  Number* step;                              // Newton's step
  Number *target, *velocity;
  Lanes* weight;                             // 1 / (scale of a coordinate)^2
  JacobianSolver<Real> solver;

  static std::int64_t bytes(const Program& program) {
    const std::int64_t n = program.inputs;
    const std::int64_t numbers = 2 * std::int64_t(program.registers) + program.parameters + 7 * n + 3 * n * n;
    return numbers * std::int64_t(sizeof(Number)) + n * std::int64_t(sizeof(Lanes)) +
           (n * (n - 1) / 2 + 1) * std::int64_t(sizeof(RowExchange));
  }

  Pack(const Program& system, void* memory) : program(system), size(system.inputs), solver(system) {
    char* free = static_cast<char*>(memory);
    auto take = [&free](std::int64_t count) {
      Number* taken = reinterpret_cast<Number*>(free);
      free += count * sizeof(Number);
      for (std::int64_t i = 0; i < count; ++i) taken[i] = zero<Real>();
      return taken;
    };
    registers = take(2 * std::int64_t(program.registers));
    load_constants(program, registers);
    candidate = registers;
    velocity = registers + program.registers + size;  // the derivative of the parameters, where the program expects it
    target = take(program.parameters);
    Number** const vectors[] = {&point, &slope, &previous_point, &previous_slope, &candidate_slope, &step, &solver.exchanged_result};
    for (Number** vector : vectors) *vector = take(size);
    Number** const matrices[] = {&solver.symmetric.lower, &solver.symmetric.upper, &solver.general.matrix};
    for (Number** matrix : matrices) *matrix = take(size * size);
    weight = reinterpret_cast<Lanes*>(free);
    solver.general.exchanges = reinterpret_cast<RowExchange*>(weight + size);
  }

  void place_parameters(Lanes remaining) {
    Number* parameters = registers + size;
    const Real s = real_from<Real>(remaining);
    for (int p = 0; p < program.parameters; ++p)
      parameters[p] = {fused_negated(s, velocity[p].re, target[p].re), fused_negated(s, velocity[p].im, target[p].im)};
  }

  // step := J^{-1} H at the candidate; the Newton iterate is candidate - step.
  void solve_newton(Mask live) {
    run(program, registers);
    solver.template solve<1>(registers, {step}, live);
  }

  // The same, and candidate_slope := J^{-1} dH/dt = dx/ds.
  void solve_newton_and_slope(Mask live) {
    run(program, registers);
    run_motion(program, registers);
    solver.template solve<2>(registers, {step, candidate_slope}, live);
  }

  // Coordinates are measured against their own size, but not below a hundredth, which is small for scaled problems, nor
  // below what rounding of the largest one leaves: a coordinate passing through zero must not demand infinite accuracy.
  Lanes measure_point() {
    Lanes largest = broadcast(0.0);
    for (int i = 0; i < size; ++i) {
      weight[i] = magnitude_squared(point[i]);
      largest = larger(weight[i], largest);
    }
    const Lanes floor = larger(largest * 1e-12, broadcast(1e-4));
    for (int i = 0; i < size; ++i) weight[i] = 1.0 / larger(weight[i], floor);
    return square_root(largest);
  }

  Lanes norm(const Number* vector) const {
    Lanes largest = broadcast(0.0);
    for (int i = 0; i < size; ++i) largest = with_entry(largest, i, vector[i]);
    return square_root(largest);
  }

  // candidate := candidate - step; the size of the step.
  Lanes take_step() {
    Lanes largest = broadcast(0.0);
    for (int i = 0; i < size; ++i) {
      candidate[i] = candidate[i] - step[i];
      largest = with_entry(largest, i, step[i]);
    }
    return square_root(largest);
  }

 private:
  Lanes with_entry(Lanes largest, int i, Number number) const {
    const Lanes entry = magnitude_squared(number) * weight[i];
    return select(entry <= largest, largest, entry);  // this way round NaN wins
  }
};

}  // namespace PM_ISA
