// The corrector: two Newton steps with an affine-covariant test; the second factorisation also gives the tangent.
//
// The contraction |d1| / |d0| estimates half of omega * |d0| in the Newton-Mysovskikh theorem (Deuflhard, Newton Methods
// for Nonlinear Problems): small contraction means that the predicted point lies deep inside the basin of one solution,
// which is what keeps a path from jumping to its neighbour. What the second step leaves is about |d1| times the
// square of the contraction.
#pragma once

#include "pack.hpp"

namespace PM_ISA {

struct Correction {
  Lanes first, second;  // |d0|, |d1|, relative
  Lanes contraction;    // |d1| / |d0|, or zero where d1 is noise and its size says nothing
};

// candidate := corrected candidate at the parameters `remaining` away from the end.
template <class Real> Correction correct(Pack<Real>& pack, Lanes remaining, Mask live, double noise) {
  pack.place_parameters(remaining);
  pack.solve_newton(live);
  Correction outcome;
  outcome.first = pack.take_step();
  pack.solve_newton_and_slope(live);
  outcome.second = pack.take_step();
  outcome.contraction = select(outcome.second <= noise, broadcast(0.0), outcome.second / outcome.first);
  return outcome;
}

}  // namespace PM_ISA
