// Which elimination solves with the Jacobian: the symmetric one where it can be trusted, LU with exchanges elsewhere.
//
// Critical equations have a symmetric Jacobian. Lanes in which symmetric elimination met a small pivot are solved by LU
// as well and take its result; the other lanes keep theirs, so that no lane's numbers depend on its neighbours.
#pragma once

#include "linear_solve.hpp"
#include "symmetric_solve.hpp"

namespace PM_ISA {

template <class Real> struct JacobianSolver {
  using Number = Complex<Real>;

  const Program& program;
  SymmetricSolver<Real> symmetric;
  LinearSolver<Real> general;
  Number* exchanged_result;
  Lanes pivot_ratio;  // largest |pivot|^2 / smallest |pivot|^2

  explicit JacobianSolver(const Program& system) : program(system) { symmetric.size = general.size = system.inputs; }

  // results[s] := J^{-1} H[s], with J and H[0], and H[1] in the second order, where the program left them. Lanes that
  // are not live may come out as anything.
  template <int Sides> void solve(const Number* registers, Number* const (&results)[Sides], Mask live) {
    const Number* sides[Sides];
    for (int s = 0; s < Sides; ++s) sides[s] = registers + s * program.registers;
    Mask exchanged = every_lane();
    if (program.symmetric) {
      symmetric.solve(registers, program.jacobian_registers, sides, program.value_registers, results);
      pivot_ratio = symmetric.pivot_ratio;
      exchanged = symmetric.weak & live;
      if (!any(exchanged)) return;
    }
    const int n = program.inputs;
    for (int e = 0; e < n * n; ++e) {
      const int source = program.jacobian_registers[e];
      general.matrix[e] = source < 0 ? zero<Real>() : registers[source];
    }
    general.factor();
    pivot_ratio = select(exchanged, general.pivot_ratio, pivot_ratio);
    for (int s = 0; s < Sides; ++s) {
      for (int i = 0; i < n; ++i) exchanged_result[i] = sides[s][program.value_registers[i]];
      general.solve(exchanged_result);
      for (int i = 0; i < n; ++i) results[s][i] = select(exchanged, exchanged_result[i], results[s][i]);
    }
  }
};

}  // namespace PM_ISA
