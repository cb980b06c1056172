// Pack: the working memory for kLanes paths that move together, and the system they move on.
//
// The homotopy is H(x, p(s)) with parameters on a segment, p(s) = target - s * velocity, where
// s = 1 - t runs from 1 down to 0. Counting the way that is left keeps full relative precision near
// the end, where it matters. A blend of two systems is the special case in which the two weights are
// parameters.
#pragma once

#include "evaluate.hpp"
#include "linear_solve.hpp"

namespace PM_ISA {

// Order of the power series behind the predictor.
#ifndef PM_ORDER
#define PM_ORDER 4
#endif
constexpr int kOrder = PM_ORDER;

template <class Real> struct Pack {
  using Number = Complex<Real>;

  const Program& program;
  const int size;
  Number *registers, *point, *candidate, *step, *series, *target, *velocity;
  Lanes* weight;  // 1 / (scale of a coordinate)^2
  LinearSolver<Real> solver;

  static std::int64_t bytes(const Program& program) {
    const std::int64_t n = program.inputs;
    const std::int64_t numbers = std::int64_t(kOrder + 1) * program.registers + 3 * n + (kOrder + 1) * n +
                                 2 * program.parameters + n * n;
    return numbers * std::int64_t(sizeof(Number)) + n * std::int64_t(sizeof(Lanes)) +
           (n * (n - 1) / 2 + 1) * std::int64_t(sizeof(RowExchange));
  }

  Pack(const Program& system, void* memory) : program(system), size(system.inputs) {
    char* free = static_cast<char*>(memory);
    auto take = [&free](std::int64_t count) {
      Number* taken = reinterpret_cast<Number*>(free);
      free += count * sizeof(Number);
      return taken;
    };
    registers = take(std::int64_t(kOrder + 1) * program.registers);
    point = take(size);
    candidate = take(size);
    step = take(size);
    series = take((kOrder + 1) * size);
    target = take(program.parameters);
    velocity = take(program.parameters);
    solver.size = size;
    solver.matrix = take(size * size);
    weight = reinterpret_cast<Lanes*>(free);
    solver.exchanges = reinterpret_cast<RowExchange*>(weight + size);
    load_constants(program, registers, kOrder + 1);
    for (int i = 0; i < size; ++i) point[i] = candidate[i] = step[i] = zero<Real>();
    for (int p = 0; p < program.parameters; ++p) target[p] = velocity[p] = zero<Real>();
  }

  Number* order(int k) { return registers + k * program.registers; }

  void place(const Number* x, Lanes remaining) {
    Number* inputs = order(0);
    for (int i = 0; i < size; ++i) inputs[i] = x[i];
    Number* parameters = inputs + size;
    const Real s = real_from<Real>(remaining);
    for (int p = 0; p < program.parameters; ++p)
      parameters[p] = {fused_negated(s, velocity[p].re, target[p].re), fused_negated(s, velocity[p].im, target[p].im)};
  }

  void evaluate_value() { run(program, program.value_code, registers, 0); }

  void evaluate_and_factor() {
    run(program, program.code_length, registers, 0);
    for (int e = 0; e < size * size; ++e) {
      const int source = program.jacobian_registers[e];
      solver.matrix[e] = source < 0 ? zero<Real>() : registers[source];
    }
    solver.factor();
  }

  // step := -J^{-1} (coefficient of order k of H)
  void solve_order(int k, Number* result) {
    const Number* values = order(k);
    for (int i = 0; i < size; ++i) result[i] = -values[program.value_registers[i]];
    solver.solve(result);
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
    for (int i = 0; i < size; ++i) {
      const Lanes entry = magnitude_squared(vector[i]) * weight[i];
      largest = select(entry <= largest, largest, entry);  // this way round NaN wins
    }
    return square_root(largest);
  }
};

}  // namespace PM_ISA
