// The corrector: simplified Newton iterations with an affine-covariant test.
//
// One factorisation at the predicted point, then iterations with the same factors. The contraction
// |d1| / |d0| estimates omega * |d0| in the Newton-Mysovskikh theorem (Deuflhard, Newton Methods for
// Nonlinear Problems): small contraction means that the predicted point lies deep inside the
// basin of one solution, which is what keeps a path from jumping to its neighbour.
#pragma once

#include "pack.hpp"

namespace PM_ISA {

constexpr int kCorrections = 3;

struct Correction {
  Mask accepted;
  Lanes first;        // |d0|, relative
  Lanes contraction;  // |d1| / |d0|
};

// candidate := corrected candidate at the parameters `remaining` away from the end.
template <class Real>
Correction correct(Pack<Real>& pack, Lanes remaining, Mask moving, const polymargin::TrackerSettings& settings) {
  const int n = pack.size;
  pack.place(pack.candidate, remaining);
  pack.evaluate_and_factor();
  pack.solve_order(0, pack.step);
  Correction outcome;
  outcome.first = pack.norm(pack.step);
  outcome.contraction = broadcast(0.0);
  for (int i = 0; i < n; ++i) pack.candidate[i] = pack.candidate[i] + pack.step[i];

  // Below this a correction is rounding noise and its contraction says nothing.
  const Lanes noise = broadcast(1e-2 * settings.accuracy);
  Mask open = moving & (outcome.first <= settings.correction);
  outcome.accepted = no_lane();
  for (int iteration = 0; iteration < kCorrections && any(open); ++iteration) {
    pack.place(pack.candidate, remaining);
    pack.evaluate_value();
    pack.solve_order(0, pack.step);
    const Lanes size = pack.norm(pack.step);
    for (int i = 0; i < n; ++i)
      pack.candidate[i] = select(open, pack.candidate[i] + pack.step[i], pack.candidate[i]);
    const Mask quiet = size <= noise;
    if (iteration == 0) {
      outcome.contraction = select(quiet, broadcast(0.0), size / outcome.first);
      open &= outcome.contraction <= settings.contraction;
    }
    const Mask done = open & (quiet | (size * outcome.contraction <= settings.accuracy));
    outcome.accepted |= done;
    open &= ~done;
  }
  return outcome;
}

}  // namespace PM_ISA
