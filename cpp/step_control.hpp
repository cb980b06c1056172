// Step control: the size of the first correction says how long the next step may be.
//
// A prediction over a step h after a step g misses by about C h^2 (h + g)^2 (see predictor.hpp), and the corrector sees that
// as its first correction and, through the contraction, as a fraction of what still converges safely. Both are to be a
// fixed share of what is accepted: with `slack` the factor by which the error may grow, the next step h f solves
//   f^2 (f + 1)^2 = slack (1 + g / h)^2,
// in the main the fourth root of the slack. Where C grows from step to step, a singularity is coming nearer, and the
// next C is taken to have grown once more.
#pragma once

#include "corrector.hpp"

namespace PM_ISA {

struct StepControl {
  // The share of the accepted corrections and contractions that is aimed at.
  static constexpr double kAim = 0.25;
  // The first step has only the tangent to go by: the point may change by this much, relative, and the step be this long.
  static constexpr double kFirstChange = 0.05, kLongestFirst = 0.05;
  static constexpr double kLargestGrowth = 2.0, kSmallestGrowth = 0.5, kLargestReduction = 0.5, kSmallestReduction = 0.1;
  static constexpr double kLargestTrend = 4.0;  // of the square root of C

  Lanes roughness = broadcast(0.0);  // the square root of C at the last step, 0 where there is none

  // No coordinate may change by more than `change`, relative, in one step. Two paths that exchange their directions within a
  // short stretch look straight from both sides; a step that leaps over it arrives on the wrong one, and nothing shows. That
  // happens where a coordinate of one path comes down to the scale of the other.
  static Lanes longest_step(Lanes speed, double change) { return change / (speed + 1e-30); }
  static Lanes first_step(Lanes speed) { return smaller(broadcast(kLongestFirst), kFirstChange / (speed + 1e-30)); }

  // What `step`, taken after the step `last` or rejected, is to be multiplied with.
  Lanes factor(const Correction& outcome, Lanes step, Lanes last, Mask accepted, const polymargin::TrackerSettings& settings) {
    const Lanes by_contraction = kAim * settings.contraction / (outcome.contraction + 1e-30);
    const Lanes by_size = kAim * settings.correction / (outcome.first + 1e-30);
    const Lanes slack = square_root(smaller(by_contraction, by_size));
    const Lanes rough = 1.0 / (slack * step * (step + last));
    const Lanes trend = larger(broadcast(1.0), smaller(rough / roughness, broadcast(kLargestTrend)));
    const Lanes left = select(accepted & (roughness > 0.0), slack / trend, slack);
    roughness = select(accepted & (last > 0.0), rough, roughness);
    const Lanes root = 0.5 * (square_root(1.0 + 4.0 * left * (1.0 + last / step)) - 1.0);
    const Lanes most = select(accepted, broadcast(kLargestGrowth), broadcast(kLargestReduction));
    const Lanes least = select(accepted, broadcast(kSmallestGrowth), broadcast(kSmallestReduction));
    return larger(smaller(root, most), least);  // NaN gives `most`
  }
};

}  // namespace PM_ISA
